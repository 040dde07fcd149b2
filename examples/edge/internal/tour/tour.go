// Package tour shows that the device of the example works. It runs the binary as a user does, and checks the results in
// the store and in the file system, without the provider.
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
	"github.com/moorage-dev/moorage/examples/tour"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/store/kube"
)

const (
	poll     = 2 * time.Second
	patience = 30 * time.Second // with each expected change

	objects    = 1000
	mostMemory = 60 << 20 // bytes, with that many objects
	mostStart  = time.Second
	mostWrites = 2 // of the provider until an object is Ready: its external name needs no write before Create
)

// A walk is one run of the tour.
type walk struct {
	out      io.Writer
	binary   string
	dir      string
	patience time.Duration
	once     bool    // it ends after the steps
	most     int64   // bytes of memory that it may use
	writes   float64 // that each object may take on average
	device   *process
	report   *tour.Report // of the step that is shown

	client    *kube.Client // while the device runs
	closeConn func()
}

// A step is one claim of the tour, and the function that shows it and reports evidence.
type step struct {
	what string
	show func(t *walk, ctx context.Context) error
}

// Run shows every step, and fails if one does not hold. Unless once is set, the device then runs until ctx ends.
func Run(ctx context.Context, out io.Writer, once bool) error {
	binary, err := os.Executable()
	if err != nil {
		return errors.Wrap(err, "cannot find this program")
	}

	t := &walk{out: out, binary: binary, once: once, patience: patience, most: mostMemory, writes: mostWrites}

	return t.run(ctx, steps)
}

func (t *walk) run(ctx context.Context, steps []step) error {
	dir, err := os.MkdirTemp("", "edge-")
	if err != nil {
		return errors.Wrap(err, "cannot make a directory")
	}
	defer func() { _ = os.RemoveAll(dir) }()
	t.dir, t.closeConn = dir, func() {}
	defer func() {
		t.closeConn()
		if t.device != nil {
			_ = t.device.kill()
		}
	}()
	shown := &tour.Tour{Out: t.out, Patience: func(string) time.Duration { return t.patience }}
	for _, s := range steps {
		shown.Steps = append(shown.Steps, tour.Step{Claim: s.what, Show: func(ctx context.Context, r *tour.Report) error {
			t.report = r

			return s.show(t, ctx)
		}})
	}

	guide := &tour.Guide{
		Out: t.out, Start: func(context.Context) (*tour.Tour, error) { return shown, nil }, // the steps start the device
		Once: t.once, Commands: t.commands, Ended: t.ended,
	}

	return guide.Run(ctx)
}

// commands returns the commands to try on the device after the tour.
func (t *walk) commands() []string {
	return []string{
		"export EDGE_DIR=" + t.dir,
		t.binary + " get --dir $EDGE_DIR | head",
		"rm $EDGE_DIR/files/file-7; until cat $EDGE_DIR/files/file-7 2>/dev/null; do sleep 1; done   # it comes back",
		t.binary + " watch --dir $EDGE_DIR",
	}
}

// ended returns a channel that is closed when the device has ended.
func (t *walk) ended() <-chan struct{} { return t.device.done }

// see reports evidence.
func (t *walk) see(format string, args ...any) { t.report.See(format, args...) }

// figure reports a figure.
func (t *walk) figure(name string, value any) { t.see("%s: %v", name, value) }

// begin starts the device and connects to its store.
func (t *walk) begin(ctx context.Context) error {
	var took time.Duration
	var err error
	if t.device, took, err = serve(ctx, t.binary, t.dir, t.patience); err != nil {
		return err
	}
	t.report.Took("From the start of the process until it said that it is ready, it", took, mostStart)
	t.client, t.closeConn, err = device.Dial(ctx, t.dir)

	return err
}

func (t *walk) end(how func(*process) error) error {
	t.closeConn()
	t.closeConn = func() {}
	p := t.device
	t.device = nil

	return how(p)
}

// edge runs the command line. A command that Ctrl-C has ended runs again: by then ctx is canceled.
func (t *walk) edge(ctx context.Context, in string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, t.patience)
	defer cancel()
	args = append([]string{args[0], "--dir", t.dir}, args[1:]...)
	for {
		cmd := exec.CommandContext(ctx, t.binary, args...)
		apart(cmd)
		var out, problems bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(in), &out, &problems
		if err := cmd.Run(); !gotCtrlC(err) {
			return out.String(), errors.Wrapf(err, "edge %s: %s", args[0], problems.String())
		}
	}
}

func manifest(name, content string) string {
	return fmt.Sprintf("apiVersion: edge.moorage.dev/v1\nkind: File\nmetadata:\n  name: %s\nspec:\n  content: %q\n", name,
		content)
}

func (t *walk) file(name string) string { return filepath.Join(device.Files(t.dir), name) }

// get reads an object from the store; nil if there is none.
func (t *walk) get(ctx context.Context, name string) (*v1.File, error) {
	f := &v1.File{}
	err := t.client.Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, f)
	if resource.IgnoreNotFound(err) == nil && err != nil {
		return nil, nil
	}

	return f, err
}

// until waits until holds returns true. An error of holds ends the wait.
func (t *walk) until(ctx context.Context, what string, holds func() (ok bool, saw string, err error)) error {
	var failure error
	err := t.report.Until(ctx, what, func(context.Context) error {
		ok, saw, err := holds()
		if failure = err; ok || err != nil {
			return nil
		}

		return errors.New(saw)
	})
	if failure != nil {
		return failure
	}

	return err
}

// contains waits until a file has the wanted content.
func (t *walk) contains(ctx context.Context, name string, want []byte) error {
	return t.until(ctx, fmt.Sprintf("the file %s with %q", name, want), func() (bool, string, error) {
		have, err := os.ReadFile(t.file(name))
		if errors.Is(err, os.ErrNotExist) {
			return false, "there is no file", nil
		}

		return bytes.Equal(have, want), fmt.Sprintf("it has %q", have), err
	})
}

// shows waits until a file has the wanted content, and reports that as evidence.
func (t *walk) shows(ctx context.Context, name, want string) error {
	err := t.contains(ctx, name, []byte(want))
	if err == nil {
		t.see("file %s: %q", name, want)
	}

	return err
}

func ready(f *v1.File) bool {
	c := f.GetCondition(commonv1.TypeReady)

	return c.Status == "True" && c.ObservedGeneration == f.Generation &&
		f.GetCondition(commonv1.TypeSynced).Status == "True"
}

// conditions formats the conditions of an object for the user.
func conditions(f *v1.File) string {
	if f == nil {
		return "there is no object"
	}
	ready, synced := f.GetCondition(commonv1.TypeReady), f.GetCondition(commonv1.TypeSynced)
	text := fmt.Sprintf("file %s, generation %d: Ready=%s %s, Synced=%s %s",
		f.Name, f.Generation, ready.Status, ready.Reason, synced.Status, synced.Reason)
	if synced.Status == "False" {
		text += ": " + synced.Message
	}

	return text
}

// ready waits until an object is Ready, and reports that.
func (t *walk) ready(ctx context.Context, name string) error {
	return t.until(ctx, name+" is Ready", func() (bool, string, error) {
		f, err := t.get(ctx, name)
		ok := f != nil && err == nil && ready(f)
		if ok {
			t.see("object %s", conditions(f))
		}

		return ok, conditions(f), err
	})
}

// refused waits until an object is not synced for the given reason, and reports its conditions.
func (t *walk) refused(ctx context.Context, name string, reason commonv1.ConditionReason) error {
	return t.until(ctx, fmt.Sprintf("%s says Synced=False %s", name, reason), func() (bool, string, error) {
		f, err := t.get(ctx, name)
		ok := false
		if f != nil {
			synced := f.GetCondition(commonv1.TypeSynced)
			ok = synced.Status == "False" && synced.Reason == reason
		}
		if ok {
			t.see("object %s", conditions(f))
		}

		return ok, conditions(f), err
	})
}

// gone waits until an object is gone.
func (t *walk) gone(ctx context.Context, name string) error {
	return t.until(ctx, name+" is gone", func() (bool, string, error) {
		f, err := t.get(ctx, name)

		return f == nil && err == nil, conditions(f), err
	})
}
