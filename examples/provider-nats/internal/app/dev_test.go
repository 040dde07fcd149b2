package app_test

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"testing"

	"github.com/moorage-dev/moorage/examples/provider-nats/internal/app"
	"github.com/moorage-dev/moorage/examples/tour/tourtest"
)

// asProgram is the variable that makes this test binary the program, also when the demo starts it.
const asProgram = "PROVIDER_NATS_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		os.Exit(m.Run())
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := app.Main(ctx, os.Args[1:], os.Stdout, os.Stderr)

	stop()
	os.Exit(code)
}

func startDev(t *testing.T, args ...string) *tourtest.Demo {
	t.Helper()

	cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{"dev"}, args...)...)
	cmd.Dir, cmd.Env = "../..", append(os.Environ(), asProgram+"=1") // where the examples are

	return tourtest.Start(t, cmd)
}

// TestTourStays: after the tour, the commands that it prints work, and Ctrl-C leaves nothing behind.
func TestTourStays(t *testing.T) {
	d := startDev(t, "--tour")
	t.Log(d.Type(d.LookAround()))
	d.Interrupt()
	d.Interrupt() // an impatient user presses Ctrl-C twice
	d.Ended()
}

// TestInterrupted: Ctrl-C ends it at any time, with and without the tour.
func TestInterrupted(t *testing.T) {
	cases := map[string]struct {
		args []string
		said string
	}{
		"Start":    {[]string{"--tour"}, "Starting an API server and NATS."},
		"Step":     {[]string{"--tour"}, " 1/7"},
		"DevStart": {nil, "Starting an API server and NATS."},
		"Dev":      {nil, "Press Ctrl-C to end it."},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each has servers of its own, and waits for them most of the time

			startDev(t, tc.args...).InterruptedAt(tc.said)
		})
	}
}
