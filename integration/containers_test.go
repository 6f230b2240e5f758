package integration_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"
)

// dockerVariable, set to "required", makes a missing Docker engine a failure: continuous integration sets it
// where there is one.
const dockerVariable = "HOLDFAST_DOCKER"

// imagesVariable lists other images than the official ones, separated by spaces, for machines that cannot pull:
// scripts/docker-engine.sh makes one from the machine's own server.
const imagesVariable = "HOLDFAST_DOCKER_IMAGES"

// The life of a lock on official images, each in a container.
func TestContainers(t *testing.T) {
	if missing := noDocker(); missing != "" {
		if os.Getenv(dockerVariable) == "required" {
			t.Fatalf("%s=required, but %s", dockerVariable, missing)
		}
		t.Skipf("not run: %s; install or start Docker (all other tests run on local processes)", missing)
	}
	images := strings.Fields(os.Getenv(imagesVariable))
	if len(images) == 0 {
		images = []string{"redis:6.2-alpine", "redis:8-alpine", "valkey/valkey:8-alpine"}
	}
	for _, image := range images {
		t.Run(image, func(t *testing.T) {
			life(t, contained(t, image), "container")
		})
	}
}

// noDocker says briefly why there is no Docker engine; "" if there is one.
func noDocker() (missing string) {
	// Without an engine testcontainers sometimes panics instead of returning an error.
	defer func() {
		if problem := recover(); problem != nil {
			missing = firstLine("no Docker engine answers", problem)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	docker, err := testcontainers.NewDockerClientWithOpts(ctx)
	if err != nil {
		return firstLine("no Docker engine is found", err)
	}
	defer func() { _ = docker.Close() }()
	if _, err := docker.Ping(ctx, client.PingOptions{}); err != nil {
		return firstLine("no Docker engine answers", err)
	}
	return ""
}

func firstLine(what string, problem any) string {
	line, _, _ := strings.Cut(fmt.Sprint(problem), "\n")
	return what + " (" + line + ")"
}

func contained(t *testing.T, image string) *redis.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // it may have to be pulled
	defer cancel()
	ctr, err := testcontainers.Run(ctx, image, testcontainers.WithExposedPorts("6379/tcp"),
		testcontainers.WithWaitStrategy(wait.ForListeningPort("6379/tcp")))
	testcontainers.CleanupContainer(t, ctr)
	require.NoError(t, err)
	addr, err := ctr.Endpoint(ctx, "")
	require.NoError(t, err)
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}
