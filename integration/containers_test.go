package integration_test

import (
	"os"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// dockerVariable, set to "required", makes a missing Docker engine a failure: continuous integration sets it
// where there is one.
const dockerVariable = "HOLDFAST_DOCKER"

// imagesVariable lists other images than the official ones, separated by spaces, for machines that cannot pull:
// scripts/docker-engine.sh makes one from the machine's own server.
const imagesVariable = "HOLDFAST_DOCKER_IMAGES"

// The life of a lock on official images, each in a container.
func TestContainers(t *testing.T) {
	if missing := redistest.NoDocker(); missing != "" {
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
			life(t, redistest.Contained(t, image), "container")
		})
	}
}
