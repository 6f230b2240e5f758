package integration_test

import (
	"os"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"
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
	// The reaper is a container of an image that would have to be pulled. A container of a test that was killed is found by
	// the library's label, org.testcontainers.
	t.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true")
	if err := dockerAnswers(t); err != nil {
		if os.Getenv(dockerVariable) == "required" {
			t.Fatalf("%s=required, but no engine answers: %v", dockerVariable, err)
		}
		t.Skipf("not run: no Docker engine answers: %v; install or start one (all other tests run on local processes)", err)
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

func dockerAnswers(t *testing.T) error {
	provider, err := testcontainers.NewDockerProvider()
	if err != nil {
		return err
	}
	defer func() { require.NoError(t, provider.Close()) }()
	return provider.Health(t.Context())
}

// contained starts the server of an image as its users do, with its own configuration and a port that Docker chooses.
func contained(t *testing.T, image string) *redis.Client {
	t.Helper()
	const port = "6379/tcp"
	container, err := testcontainers.Run(t.Context(), image, testcontainers.WithExposedPorts(port),
		testcontainers.WithWaitStrategy(wait.ForListeningPort(port).SkipInternalCheck()),
		testcontainers.WithLogger(log.TestLogger(t)))
	testcontainers.CleanupContainer(t, container)
	require.NoError(t, err)
	addr, err := container.PortEndpoint(t.Context(), port, "")
	require.NoError(t, err)
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}
