package tour

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/moorage-dev/moorage/examples/edge/internal/v1"
	"github.com/moorage-dev/moorage/examples/tour/tourtest"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "edge")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", binary, "../..")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	return binary
}

// freeze suspends the device.
func freeze(t *walk, _ context.Context) error {
	t.see("it is frozen")

	return t.device.cmd.Process.Signal(syscall.SIGSTOP)
}

// hurry shortens all waits, those of the running device too: the next step is expected to fail.
func hurry(t *walk, _ context.Context) error {
	t.see("there is no time")
	t.patience = 2 * time.Second
	if t.device != nil {
		t.device.patience = t.patience
	}

	return nil
}

// newBusyTour returns a tour that writes to out and ends after the steps. On a busy machine a pass may fail and be
// retried, which costs writes.
func newBusyTour(out io.Writer, binary string) *walk {
	busy := wait.Patience()

	return &walk{out: out, binary: binary, once: true, patience: busy, most: mostMemory, writes: mostWrites + 0.1}
}

// asDemo is the environment variable that makes this test binary run the demo of the device binary that it names.
const asDemo = "DEMO"

func TestMain(m *testing.M) {
	binary := os.Getenv(asDemo)
	if binary == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	demo := newBusyTour(os.Stdout, binary)
	demo.once = false
	err := demo.run(ctx, steps)
	stop()
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

func start(t *testing.T, binary string) *tourtest.Demo {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), asDemo+"="+binary)

	return tourtest.Start(t, cmd)
}

// TestTour runs the tour: every step holds, the printed commands work twice, and Ctrl-C leaves nothing.
func TestTour(t *testing.T) {
	d := start(t, build(t))
	commands := d.LookAround()
	if want := fmt.Sprintf("All %d steps held", len(steps)); !strings.Contains(d.Printed(), want) {
		t.Errorf("it does not say %q:\n%s", want, d.Printed())
	}
	last := len(commands) - 1
	if !strings.Contains(commands[last], " watch ") {
		t.Fatalf("the last command ends by itself: %q", commands[last])
	}
	commands[last] += " | grep -m 1 file-7"
	for range 2 {
		if got := d.Type(commands); !strings.Contains(got, "\n7\n") || !strings.Contains(got, "ADDED\tfile-7") {
			t.Errorf("the commands print\n%s", got)
		}
	}
	d.Interrupt()
	d.Interrupt() // a second Ctrl-C changes nothing
	d.Ended()
	t.Logf("\n%s", d.Printed())
}

// TestInterrupted: Ctrl-C ends the demo at any time, also while a thousand objects are created.
func TestInterrupted(t *testing.T) {
	binary := build(t)
	for _, said := range []string{" 1/17", " 3/17", "12/17"} {
		t.Run(said, func(t *testing.T) {
			start(t, binary).InterruptedAt(said)
		})
	}
}

// TestTourNotices makes the claim of each step false: the step fails.
func TestTourNotices(t *testing.T) {
	binary := build(t)
	for i, s := range steps {
		broken, ok := sabotages[s.what]
		if !ok {
			t.Errorf("no sabotage of %q", s.what)

			continue
		}
		t.Run(s.what, func(t *testing.T) {
			with := binary
			if broken.binary != "" {
				with = broken.binary
			}
			before := slices.Clone(steps[min(i, 1):min(i, 4)]) // the device, and objects
			do := append(before, broken.step, step{"nobody waits long for what will not happen", hurry}, s)
			if broken.binary != "" {
				do = []step{s}
			}
			var out bytes.Buffer
			err := newBusyTour(&out, with).run(t.Context(), do)
			if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("step %d did not hold", len(do))) {
				t.Errorf("it ends with %v after\n%s", err, &out)
			}
		})
	}
}

type sabotage struct {
	binary string // instead of ours
	step   step
}

var frozen = sabotage{step: step{"nothing works", freeze}}

// No device is this small.
var tight = sabotage{step: step{"there is a megabyte", func(t *walk, _ context.Context) error {
	t.most = 1 << 20
	t.see("there is a megabyte")

	return nil
}}}

var sabotages = map[string]sabotage{
	steps[0].what: {binary: "/bin/sh"}, // needs a library
	steps[1].what: {binary: "/bin/true"},
	steps[2].what: frozen, steps[3].what: frozen, steps[4].what: frozen, steps[5].what: frozen,
	steps[6].what: frozen, steps[7].what: frozen, steps[8].what: frozen,
	steps[9].what: {step: step{"nobody looks after files", func(t *walk, _ context.Context) error {
		t.binary = "/bin/true" // what is started again
		t.see("the binary is another one")

		return nil
	}}},
	steps[10].what: frozen, steps[11].what: frozen,
	steps[12].what: {step: step{"somebody writes", func(t *walk, ctx context.Context) error {
		t.see("somebody writes")
		f := &v1.File{}
		f.Namespace, f.Name = "default", "motd"
		go func() { // repeatedly, so that some writes are made during the step whenever that begins
			for n := range 16 {
				<-time.After(poll / 4)
				label := fmt.Appendf(nil, `{"metadata":{"labels":{"by":"somebody-%d"}}}`, n)
				_ = t.client.Patch(ctx, f, client.RawPatch(types.MergePatchType, label))
			}
		}()

		return nil
	}}},
	steps[13].what: tight, steps[14].what: frozen, steps[15].what: frozen, steps[16].what: tight,
}
