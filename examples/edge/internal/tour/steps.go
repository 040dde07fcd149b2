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

	v1 "github.com/moorage-dev/moorage/examples/edge/internal/v1"
	"github.com/moorage-dev/moorage/examples/tour"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
)

var steps = []step{
	{"The binary needs nothing but itself.", func(t *walk, _ context.Context) error {
		if err := static(t.binary); err != nil {
			return err
		}
		t.see("the ELF header of %s names no interpreter and no dynamic section: it is static", t.binary)

		return nil
	}},
	{"The device starts in under a second.", (*walk).begin},
	{"Objects are applied, and their files are made.", apply},
	{"A watch reports what is applied.", follow},
	{"Objects are listed.", list},
	{"A change of the object changes the file.", change},
	{"A change of the file is taken back.", drift},
	{"A file without an owner is left alone.", foreign},
	{"A name that leads elsewhere is refused.", escape},
	{"A killed device goes on where it was.", survive},
	{"A deletion deletes the file, and then the object.", remove},
	{fmt.Sprintf("%d objects are created and become Ready.", objects), many},
	{"Nothing is written while nothing changes.", steady},
	{"The device never had more than 60 MB of memory.", small},
	{"It ends when it is asked to.", func(t *walk, _ context.Context) error {
		if err := t.end((*process).stop); err != nil {
			return err
		}
		t.see("after SIGTERM the process ended with exit code 0")

		return nil
	}},
	{fmt.Sprintf("With its %d objects it starts in under a second.", objects), again},
	{"It never has more than 60 MB of memory then.", smallAgain},
}

func apply(t *walk, ctx context.Context) error {
	documents := manifest("motd", "hello\n") + "---\n" + manifest("hosts", "127.0.0.1 localhost\n")
	if _, err := t.edge(ctx, documents, "apply"); err != nil {
		return err
	}

	return stderrors.Join(t.shows(ctx, "motd", "hello\n"), t.shows(ctx, "hosts", "127.0.0.1 localhost\n"),
		t.ready(ctx, "motd"), t.ready(ctx, "hosts"))
}

// follow runs a watch while an object is applied.
func follow(t *walk, ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, t.patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, t.binary, "watch", "--dir", t.dir)
	apart(cmd)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() {
		cancel()
		_ = cmd.Wait() // it was killed
	}()
	lines := bufio.NewScanner(out)
	for seen := 0; seen < 2 && lines.Scan(); seen++ { // the objects that existed before
		if !strings.HasPrefix(lines.Text(), "ADDED") {
			return errors.Errorf("the watch begins with %q", lines.Text())
		}
	}
	if _, err := t.edge(ctx, manifest("issue", "edge\n"), "apply"); err != nil {
		return err
	}
	events := 0
	for lines.Scan() {
		if strings.Contains(lines.Text(), "\tissue\t") {
			events++
		}
		if strings.Contains(lines.Text(), "\tissue\tTrue(Available)\tTrue") {
			t.see("edge watch: %s", strings.ReplaceAll(lines.Text(), "\t", "  "))
			t.see("edge watch reported the object %d times", events)

			return nil
		}
	}

	return errors.New("the watch ended before it reported that the object is Ready")
}

func list(t *walk, ctx context.Context) error {
	out, err := t.edge(ctx, "", "get")
	if err != nil {
		return err
	}
	for _, name := range []string{"motd", "hosts", "issue"} {
		if !strings.Contains(out, name+" ") {
			return errors.Errorf("%s is not in the list:\n%s", name, out)
		}
	}

	t.see("%s", out)

	return nil
}

func change(t *walk, ctx context.Context) error {
	if _, err := t.edge(ctx, manifest("motd", "good evening\n"), "apply"); err != nil {
		return err
	}
	if err := t.shows(ctx, "motd", "good evening\n"); err != nil {
		return err
	}
	if err := t.ready(ctx, "motd"); err != nil {
		return err
	}
	f, err := t.get(ctx, "motd")
	if err == nil && (f == nil || f.Generation != 2 || f.Status.Size != 13) {
		err = errors.Errorf("the object is %+v", f)
	}

	return err
}

func drift(t *walk, ctx context.Context) error {
	if err := os.WriteFile(t.file("motd"), []byte("vandals were here\n"), 0o600); err != nil {
		return err
	}
	t.see("another program writes into the file motd: %q", "vandals were here\n")

	return t.shows(ctx, "motd", "good evening\n")
}

func foreign(t *walk, ctx context.Context) error {
	const theirs = "not yours\n"
	if err := os.WriteFile(t.file("passwd"), []byte(theirs), 0o600); err != nil {
		return err
	}
	if _, err := t.edge(ctx, manifest("passwd", "root::0:0\n"), "apply"); err != nil {
		return err
	}
	if err := t.refused(ctx, "passwd", "ExternalResourceNotOwned"); err != nil {
		return err
	}
	if _, err := t.edge(ctx, "", "delete", "passwd"); err != nil {
		return err
	}
	if err := t.gone(ctx, "passwd"); err != nil {
		return err
	}

	t.see("the object is deleted again, and is gone")

	return t.shows(ctx, "passwd", theirs)
}

func escape(t *walk, ctx context.Context) error {
	document := strings.Replace(manifest("escape", "x"), "metadata:\n",
		"metadata:\n  annotations:\n    "+meta.AnnotationKeyExternalName+": ../escaped\n", 1)
	if _, err := t.edge(ctx, document, "apply"); err != nil {
		return err
	}
	if err := t.refused(ctx, "escape", "NoNameOfAFile"); err != nil {
		return err
	}
	if _, err := os.Stat(t.file("../escaped")); !errors.Is(err, os.ErrNotExist) {
		return errors.New("there is a file outside of the directory")
	}
	t.see("file ../escaped: none")

	return nil
}

func survive(t *walk, ctx context.Context) error {
	if err := t.end((*process).kill); err != nil {
		return err
	}
	if err := os.Remove(t.file("hosts")); err != nil {
		return err
	}
	t.see("the device is killed with SIGKILL, and the file hosts removed")
	if err := t.begin(ctx); err != nil {
		return err
	}

	return stderrors.Join(t.shows(ctx, "hosts", "127.0.0.1 localhost\n"), t.ready(ctx, "motd"))
}

func remove(t *walk, ctx context.Context) error {
	if _, err := t.edge(ctx, "", "delete", "motd", "hosts", "issue"); err != nil {
		return err
	}
	for _, name := range []string{"motd", "hosts", "issue"} {
		if err := t.gone(ctx, name); err != nil {
			return err
		}
		if _, err := os.Stat(t.file(name)); !errors.Is(err, os.ErrNotExist) {
			return errors.Errorf("the object %s is gone, and its file is not", name)
		}
	}

	t.see("objects and files motd, hosts and issue are gone")

	return nil
}

func many(t *walk, ctx context.Context) error {
	began := time.Now()
	before, err := t.version(ctx)
	if err != nil {
		return err
	}
	for i := range objects {
		f := &v1.File{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("file-%d", i)},
			Spec:       v1.FileSpec{Content: fmt.Sprintln(i)},
		}
		if err := t.client.Create(ctx, f); err != nil {
			return err
		}
	}
	last := time.Now()
	n := 0
	for n < objects {
		list := &v1.FileList{}
		if err := t.client.List(ctx, list); err != nil {
			return err
		}
		n = 0
		for i := range list.Items {
			if ready(&list.Items[i]) {
				n++
			}
		}
		if time.Since(last) > 2*t.patience {
			return errors.Errorf("%d are Ready", n)
		}
	}
	for i := range objects {
		if err := t.contains(ctx, fmt.Sprintf("file-%d", i), []byte(fmt.Sprintln(i))); err != nil {
			return err
		}
	}
	took := time.Since(began)
	t.figure("objects_per_second", int(objects/took.Seconds()))
	after, err := t.version(ctx)
	if err != nil {
		return err
	}
	writes := float64(after-before)/objects - 1 // without the Create of the tour
	if t.figure("writes_to_ready", writes); writes > t.writes {
		want := fmt.Sprintf("at most %g writes for each object", t.writes)

		return &tour.Missed{Want: want, Saw: errors.Errorf("%.3f", writes)}
	}

	return nil
}

// version returns the revision of the store, which each write increments by one.
func (t *walk) version(ctx context.Context) (uint64, error) {
	list := &v1.FileList{}
	if err := t.client.List(ctx, list, client.MatchingFields{"metadata.name": "none"}); err != nil {
		return 0, err
	}

	return strconv.ParseUint(list.ResourceVersion, 10, 64)
}

// steady compares the revision of the store before and after a few polls.
func steady(t *walk, ctx context.Context) error {
	before, err := t.version(ctx)
	if err != nil {
		return err
	}
	select {
	case <-time.After(3 * poll):
	case <-ctx.Done():
		return ctx.Err()
	}
	after, err := t.version(ctx)
	if err == nil && before != after {
		err = errors.Errorf("the store was at version %d, and is at %d", before, after)
	}

	if err == nil {
		t.see("the store is at version %d, as it was %s before; the device polls every %s", after, 3*poll, poll)
	}

	return err
}

func small(t *walk, _ context.Context) error { return t.measure("memory") }

// smallAgain checks the same limit for the device that started with all objects, after it has observed each of them.
func smallAgain(t *walk, ctx context.Context) error {
	select {
	case <-time.After(3 * poll):
	case <-ctx.Done():
		return ctx.Err()
	}

	return t.measure("memory_with_objects")
}

// measure prints the memory usage of the device, and fails if its peak exceeds the limit.
func (t *walk) measure(figure string) error {
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
		want := fmt.Sprintf("at most %d bytes of memory", t.most)

		return &tour.Missed{Want: want, Saw: errors.Errorf("%d bytes", u.most)}
	}

	return nil
}

func again(t *walk, ctx context.Context) error {
	if t.device != nil {
		if err := t.end((*process).stop); err != nil {
			return err
		}
	}

	return t.begin(ctx)
}
