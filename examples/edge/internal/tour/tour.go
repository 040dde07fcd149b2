// Package tour shows that the device of the example does what it should. It uses the
// binary as a user would, and looks for what became of it in the store and in the
// file system: not by way of the provider.
package tour

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/examples/edge/internal/device"
	v1 "github.com/moorage-dev/moorage/examples/edge/internal/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/store/kube"
)

const (
	poll     = 2 * time.Second
	patience = 30 * time.Second // with what has to happen

	objects    = 1000
	mostMemory = 60 << 20 // bytes, with that many objects
	mostStart  = time.Second
	mostWrites = 2 // of the provider until an object is Ready: its names are chosen here
)

// A tour is one that is under way.
type tour struct {
	out      io.Writer
	binary   string
	dir      string
	patience time.Duration
	start    time.Duration // how long the device may take to start
	most     int64         // how much memory it may use
	writes   float64       // how many each object may take on average
	device   *process

	client *kube.Client // while the device runs
	hangUp func()
}

// A step is something to show. It returns what was seen.
type step struct {
	what string
	show func(t *tour, ctx context.Context) (string, error)
}

// Run shows everything, and fails if anything does not hold.
func Run(ctx context.Context, out io.Writer) error {
	binary, err := os.Executable()
	if err != nil {
		return errors.Wrap(err, "cannot find this program")
	}

	return (&tour{out: out, binary: binary, patience: patience, start: mostStart, most: mostMemory, writes: mostWrites}).run(ctx, steps)
}

func (t *tour) run(ctx context.Context, steps []step) error {
	dir, err := os.MkdirTemp("", "edge-")
	if err != nil {
		return errors.Wrap(err, "cannot make a directory")
	}
	defer func() { _ = os.RemoveAll(dir) }()
	t.dir, t.hangUp = dir, func() {}
	defer func() {
		t.hangUp()
		if t.device != nil {
			_ = t.device.kill()
		}
	}()
	for i, s := range steps {
		seen, err := s.show(t, ctx)
		if err != nil {
			return errors.Wrapf(err, "step %d, %s", i+1, s.what)
		}
		fmt.Fprintf(t.out, "%2d  %-58s %s\n", i+1, s.what, seen)
	}
	fmt.Fprintln(t.out, "every step held")

	return nil
}

// Figure prints a figure alone on its line.
func (t *tour) figure(name string, value any) { fmt.Fprintf(t.out, "%s: %v\n", name, value) }

// Begin starts the device and connects to its store.
func (t *tour) begin(ctx context.Context, figure string) (string, error) {
	var took time.Duration
	var err error
	if t.device, took, err = serve(ctx, t.binary, t.dir, t.patience); err != nil {
		return "", err
	}
	t.figure(figure, took.Milliseconds())
	if took > t.start {
		return "", errors.Errorf("it took %s, more than %s", took, t.start)
	}
	t.client, t.hangUp, err = device.Dial(ctx, t.dir)

	return took.Round(time.Millisecond).String(), err
}

func (t *tour) end(how func(*process) error) error {
	t.hangUp()
	t.hangUp = func() {}
	p := t.device
	t.device = nil

	return how(p)
}

// Edge runs the command line.
func (t *tour) edge(ctx context.Context, in string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, t.patience)
	defer cancel()
	args = append([]string{args[0], "--dir", t.dir}, args[1:]...)
	cmd := exec.CommandContext(ctx, t.binary, args...)
	var out, problems bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(in), &out, &problems
	err := cmd.Run()

	return out.String(), errors.Wrapf(err, "edge %s: %s", args[0], problems.String())
}

func manifest(name, content string) string {
	return fmt.Sprintf("apiVersion: edge.moorage.dev/v1\nkind: File\nmetadata:\n  name: %s\nspec:\n  content: %q\n", name, content)
}

func (t *tour) file(name string) string { return filepath.Join(device.Files(t.dir), name) }

// Get reads an object from the store; nil if there is none.
func (t *tour) get(ctx context.Context, name string) (*v1.File, error) {
	f := &v1.File{}
	err := t.client.Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, f)
	if resource.IgnoreNotFound(err) == nil && err != nil {
		return nil, nil
	}

	return f, err
}

// Until waits until something holds.
func (t *tour) until(ctx context.Context, what string, holds func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, t.patience)
	defer cancel()
	for {
		ok, err := holds()
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Errorf("%s: not within %s", what, t.patience)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Contains waits until a file has a content; nil is that there is none.
func (t *tour) contains(ctx context.Context, name string, want []byte) error {
	return t.until(ctx, "the content of "+name, func() (bool, error) {
		have, err := os.ReadFile(t.file(name))
		if errors.Is(err, os.ErrNotExist) {
			return want == nil, nil
		}

		return want != nil && bytes.Equal(have, want), err
	})
}

func ready(f *v1.File) bool {
	c := f.GetCondition(commonv1.TypeReady)

	return c.Status == "True" && c.ObservedGeneration == f.Generation && f.GetCondition(commonv1.TypeSynced).Status == "True"
}

func (t *tour) ready(ctx context.Context, name string) error {
	return t.until(ctx, name+" is Ready", func() (bool, error) {
		f, err := t.get(ctx, name)

		return f != nil && err == nil && ready(f), err
	})
}
