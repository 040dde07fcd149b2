package tourtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/examples/tour"
)

// asDemo is the environment variable that makes this test binary a demo.
const asDemo = "TOURTEST_DEMO"

func TestMain(m *testing.M) {
	if os.Getenv(asDemo) != "" {
		demo()
	}
	os.Exit(m.Run())
}

// demo waits for Ctrl-C at the stage that its argument names, and keeps a temporary file until then.
func demo() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	dir, err := os.MkdirTemp("", "demo-")
	start := func(ctx context.Context) (*tour.Tour, error) {
		if os.Args[1] == "start" {
			fmt.Println("It starts.")
			<-ctx.Done()
		}

		return &tour.Tour{Out: os.Stdout,
			Steps: []tour.Step{{Claim: "It waits.", Show: func(ctx context.Context, r *tour.Report) error {
				if r.See("a step"); os.Args[1] == "step" {
					<-ctx.Done()
				}

				return ctx.Err()
			}}}}, ctx.Err()
	}
	if err == nil {
		err = (&tour.Guide{Out: os.Stdout, Start: start,
			Commands: func() []string { return []string{"NAME=world", "echo hello $NAME"} }}).Run(ctx)
	}
	_ = os.RemoveAll(dir)
	stop()
	if err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

func start(t *testing.T, at string) *Demo {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], at)
	cmd.Env = append(os.Environ(), asDemo+"=1")

	return Start(t, cmd)
}

func TestLookAround(t *testing.T) {
	d := start(t, "end")
	commands := d.LookAround()
	if diff := cmp.Diff([]string{"NAME=world", "echo hello $NAME"}, commands); diff != "" {
		t.Error(diff)
	}
	if got := d.Type(commands); got != "hello world\n" {
		t.Errorf("the commands print %q", got)
	}
	d.Interrupt()
	d.Interrupt()
	d.Ended()
}

func TestInterrupt(t *testing.T) {
	for at, said := range map[string]string{"start": "It starts.", "step": "a step"} {
		t.Run(at, func(t *testing.T) {
			d := start(t, at)
			d.Await(said)
			d.Interrupt()
			d.Ended()
		})
	}
}

func TestInstalled(t *testing.T) {
	t.Setenv("PATH", "")
	got := installed([]string{"export KUBECONFIG=x", "kubectl get pods", "echo | kubectl apply -f -", "./kubectl x",
		"nats stream ls"})
	if diff := cmp.Diff([]string{"export KUBECONFIG=x", "./kubectl x"}, got); diff != "" {
		t.Error(diff)
	}
}
