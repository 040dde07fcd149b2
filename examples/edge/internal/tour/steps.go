package tour

import (
	"bufio"
	"context"
	stderrors "errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	v1 "github.com/moorage-dev/moorage/examples/edge/internal/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
)

var steps = []step{
	{"the binary needs nothing but itself", func(t *tour, _ context.Context) (string, error) { return "static", static(t.binary) }},
	{"it starts in under a second", func(t *tour, ctx context.Context) (string, error) { return t.begin(ctx, "start_ms") }},
	{"objects are applied, and their files are made", apply},
	{"a watch tells of what is applied", follow},
	{"objects are listed", list},
	{"a change of the object changes the file", change},
	{"a change of the file is taken back", drift},
	{"a file that is nobody's is left alone", foreign},
	{"a name that leads elsewhere is refused", escape},
	{"a killed device goes on where it was", survive},
	{"a deletion deletes the file, and then the object", remove},
	{fmt.Sprintf("%d objects are Ready", objects), many},
	{"nothing is written while nothing changes", steady},
	{"it never had more than 60 MB of memory", small},
	{"with them it starts in under a second", again},
	{"and never has more than 60 MB of memory then", smallAgain},
	{"it ends when it is asked to", func(t *tour, _ context.Context) (string, error) { return "", t.end((*process).stop) }},
}

func apply(t *tour, ctx context.Context) (string, error) {
	documents := manifest("motd", "hello\n") + "---\n" + manifest("hosts", "127.0.0.1 localhost\n")
	if _, err := t.edge(ctx, documents, "apply"); err != nil {
		return "", err
	}
	err := stderrors.Join(t.contains(ctx, "motd", []byte("hello\n")), t.contains(ctx, "hosts", []byte("127.0.0.1 localhost\n")),
		t.ready(ctx, "motd"), t.ready(ctx, "hosts"))

	return "2 files", err
}

// Follow runs a watch of its own while something is applied.
func follow(t *tour, ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, t.patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, t.binary, "watch", "--dir", t.dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	defer func() {
		cancel()
		_ = cmd.Wait() // it was killed
	}()
	lines := bufio.NewScanner(out)
	for seen := 0; seen < 2 && lines.Scan(); seen++ { // what there was
		if !strings.HasPrefix(lines.Text(), "ADDED") {
			return "", errors.Errorf("the watch begins with %q", lines.Text())
		}
	}
	if _, err := t.edge(ctx, manifest("issue", "edge\n"), "apply"); err != nil {
		return "", err
	}
	told := 0
	for lines.Scan() {
		if strings.Contains(lines.Text(), "\tissue\t") {
			told++
		}
		if strings.Contains(lines.Text(), "\tissue\tTrue(Available)\tTrue") {
			return fmt.Sprintf("%d events", told), nil
		}
	}

	return "", errors.New("the watch ended before it told that the object is Ready")
}

func list(t *tour, ctx context.Context) (string, error) {
	out, err := t.edge(ctx, "", "get")
	if err != nil {
		return "", err
	}
	for _, name := range []string{"motd", "hosts", "issue"} {
		if !strings.Contains(out, name+" ") {
			return "", errors.Errorf("%s is not in the list:\n%s", name, out)
		}
	}

	return "3 objects", nil
}

func change(t *tour, ctx context.Context) (string, error) {
	if _, err := t.edge(ctx, manifest("motd", "good evening\n"), "apply"); err != nil {
		return "", err
	}
	if err := t.contains(ctx, "motd", []byte("good evening\n")); err != nil {
		return "", err
	}
	if err := t.ready(ctx, "motd"); err != nil {
		return "", err
	}
	f, err := t.get(ctx, "motd")
	if err == nil && (f == nil || f.Generation != 2 || f.Status.Size != 13) {
		err = errors.Errorf("the object is %+v", f)
	}

	return "generation 2", err
}

func drift(t *tour, ctx context.Context) (string, error) {
	if err := os.WriteFile(t.file("motd"), []byte("vandals were here\n"), 0o600); err != nil {
		return "", err
	}
	began := time.Now()
	err := t.contains(ctx, "motd", []byte("good evening\n"))

	return "after " + time.Since(began).Round(100*time.Millisecond).String(), err
}

func foreign(t *tour, ctx context.Context) (string, error) {
	const theirs = "not yours\n"
	if err := os.WriteFile(t.file("passwd"), []byte(theirs), 0o600); err != nil {
		return "", err
	}
	if _, err := t.edge(ctx, manifest("passwd", "root::0:0\n"), "apply"); err != nil {
		return "", err
	}
	err := t.until(ctx, "the object says so", func() (bool, error) {
		f, err := t.get(ctx, "passwd")

		return f != nil && f.GetCondition(commonv1.TypeSynced).Status == "False", err
	})
	if err != nil {
		return "", err
	}
	f, err := t.get(ctx, "passwd")
	if err != nil {
		return "", err
	}
	if _, err := t.edge(ctx, "", "delete", "passwd"); err != nil {
		return "", err
	}
	if err := t.gone(ctx, "passwd"); err != nil {
		return "", err
	}

	return string(f.GetCondition(commonv1.TypeSynced).Reason), t.contains(ctx, "passwd", []byte(theirs))
}

func escape(t *tour, ctx context.Context) (string, error) {
	document := strings.Replace(manifest("escape", "x"), "metadata:\n", "metadata:\n  annotations:\n    "+meta.AnnotationKeyExternalName+": ../escaped\n", 1)
	if _, err := t.edge(ctx, document, "apply"); err != nil {
		return "", err
	}
	err := t.until(ctx, "the object says so", func() (bool, error) {
		f, err := t.get(ctx, "escape")

		return f != nil && f.GetCondition(commonv1.TypeSynced).Status == "False", err
	})
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(t.file("../escaped")); !errors.Is(err, os.ErrNotExist) {
		return "", errors.New("there is a file outside of the directory")
	}

	return "", nil
}

func survive(t *tour, ctx context.Context) (string, error) {
	if err := t.end((*process).kill); err != nil {
		return "", err
	}
	if err := os.Remove(t.file("hosts")); err != nil {
		return "", err
	}
	took, err := t.begin(ctx, "start_after_kill_ms")
	if err != nil {
		return "", err
	}

	return took, stderrors.Join(t.contains(ctx, "hosts", []byte("127.0.0.1 localhost\n")), t.ready(ctx, "motd"))
}

func remove(t *tour, ctx context.Context) (string, error) {
	if _, err := t.edge(ctx, "", "delete", "motd", "hosts", "issue"); err != nil {
		return "", err
	}
	for _, name := range []string{"motd", "hosts", "issue"} {
		if err := t.gone(ctx, name); err != nil {
			return "", err
		}
		if _, err := os.Stat(t.file(name)); !errors.Is(err, os.ErrNotExist) {
			return "", errors.Errorf("the object %s is gone, and its file is not", name)
		}
	}

	return "3 files", nil
}

func (t *tour) gone(ctx context.Context, name string) error {
	return t.until(ctx, name+" is gone", func() (bool, error) {
		f, err := t.get(ctx, name)

		return f == nil && err == nil, err
	})
}

func many(t *tour, ctx context.Context) (string, error) {
	began := time.Now()
	before, err := t.version(ctx)
	if err != nil {
		return "", err
	}
	for i := range objects {
		f := &v1.File{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("file-%d", i)}, Spec: v1.FileSpec{Content: fmt.Sprintln(i)}}
		if err := t.client.Create(ctx, f); err != nil {
			return "", err
		}
	}
	last := time.Now()
	n := 0
	for n < objects {
		list := &v1.FileList{}
		if err := t.client.List(ctx, list); err != nil {
			return "", err
		}
		n = 0
		for i := range list.Items {
			if ready(&list.Items[i]) {
				n++
			}
		}
		if time.Since(last) > 2*t.patience {
			return "", errors.Errorf("%d are Ready", n)
		}
	}
	for i := range objects {
		if err := t.contains(ctx, fmt.Sprintf("file-%d", i), []byte(fmt.Sprintln(i))); err != nil {
			return "", err
		}
	}
	took := time.Since(began)
	t.figure("objects_per_second", int(objects/took.Seconds()))
	after, err := t.version(ctx)
	if err != nil {
		return "", err
	}
	writes := float64(after-before)/objects - 1 // without ours
	if t.figure("writes_to_ready", writes); writes > t.writes {
		return "", errors.Errorf("%.3f writes for each, more than %g", writes, t.writes)
	}

	return "in " + took.Round(100*time.Millisecond).String(), nil
}

// Version returns that of the store, which each write makes one higher.
func (t *tour) version(ctx context.Context) (uint64, error) {
	list := &v1.FileList{}
	if err := t.client.List(ctx, list, client.MatchingFields{"metadata.name": "none"}); err != nil {
		return 0, err
	}

	return strconv.ParseUint(list.ResourceVersion, 10, 64)
}

// Steady compares the versions of the store over a few polls.
func steady(t *tour, ctx context.Context) (string, error) {
	before, err := t.version(ctx)
	if err != nil {
		return "", err
	}
	select {
	case <-time.After(3 * poll):
	case <-ctx.Done():
		return "", ctx.Err()
	}
	after, err := t.version(ctx)
	if err == nil && before != after {
		err = errors.Errorf("the store was at version %d, and is at %d", before, after)
	}

	return fmt.Sprintf("version %d", after), err
}

func small(t *tour, _ context.Context) (string, error) { return "", t.measure("memory") }

// Small again holds the device that started with all of the objects to the same, once
// it has looked at each of them.
func smallAgain(t *tour, ctx context.Context) (string, error) {
	select {
	case <-time.After(3 * poll):
	case <-ctx.Done():
		return "", ctx.Err()
	}

	return "", t.measure("memory_with_objects")
}

// Measure prints how much memory the device uses, and fails if it ever was too much.
func (t *tour) measure(figure string) error {
	u, err := t.device.memory()
	if err != nil {
		return err
	}
	for _, of := range []struct {
		suffix string
		bytes  int64
	}{{"_mb", u.now}, {"_own_mb", u.own}, {"_files_mb", u.files}, {"_peak_mb", u.most}} {
		t.figure(figure+of.suffix, fmt.Sprintf("%.1f", float64(of.bytes)/(1<<20)))
	}
	if u.most > t.most {
		return errors.Errorf("it was in %d bytes, more than %d", u.most, t.most)
	}

	return nil
}

func again(t *tour, ctx context.Context) (string, error) {
	if err := t.end((*process).stop); err != nil {
		return "", err
	}

	return t.begin(ctx, "start_with_objects_ms")
}
