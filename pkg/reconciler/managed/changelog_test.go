package managed_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/changelog"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestChangesAreLogged verifies that every external change is logged once, with the object before it and its
// result, successful or not; observations are not logged.
func TestChangesAreLogged(t *testing.T) {
	var entries []changelog.Entry
	sink := changelog.SinkFunc(func(_ context.Context, e changelog.Entry) error {
		entries = append(entries, e)

		return nil
	})
	g := newGallery(t, managed.WithChangeLog(sink), managed.WithProvider("provider-clouds", "v1"))
	g.cloud.After = func(ctx context.Context, call string, _ resource.Managed) error {
		changelog.Detail(ctx, "request", call+"-1") // a detail of the client

		return nil
	}
	g.cloud.Before = failing("Create", external.NotCreated(errors.New("no quota")))
	g.create(nil)
	if _, err := g.try(); err == nil {
		t.Fatal("no error")
	}
	g.cloud.Before = nil
	g.pass()
	g.pass()
	g.cloud.Before = failing("Update", errors.New("too big"))
	g.change(func(s *volume.Snapshot) { s.Spec.SizeGiB = 2 })
	if _, err := g.try(); err == nil {
		t.Fatal("no error")
	}
	g.cloud.Before = nil
	g.pass()
	g.delete()
	g.pass()

	type line struct{ Operation, ExternalName, Error string }
	var got []line
	for _, e := range entries {
		got = append(got, line{string(e.Operation), e.ExternalName, e.Error})
		if e.Provider != "provider-clouds" || e.Name != key.Name || e.UID != "uid-1" ||
			e.GroupVersionKind.Kind != "Snapshot" || (e.Attempt != "") != (e.Operation == "Create") {
			t.Errorf("entry %+v", e)
		}
	}
	want := []line{{"Create", "", "no quota"}, {"Create", "vol-1", ""}, {"Update", "vol-1", "too big"},
		{"Update", "vol-1", ""}, {"Delete", "vol-1", ""}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := entries[1].Details["request"]; got != "Create-1" {
		t.Errorf("details %v", entries[1].Details)
	}
	if before, after := string(entries[1].Before), string(entries[1].After); strings.Contains(before, `"id":"vol-1"`) ||
		!strings.Contains(after, `"id":"vol-1"`) {
		t.Errorf("before %s\nafter %s", before, after)
	}
}

// TestAChangeLogSinkIsCalledAfterAllWrites verifies that the change log sink is called after all writes, so that it
// can delay none.
func TestAChangeLogSinkIsCalledAfterAllWrites(t *testing.T) {
	cases := map[string]changelog.Sink{
		"fails":  changelog.SinkFunc(func(context.Context, changelog.Entry) error { return errors.New("disk full") }),
		"panics": changelog.SinkFunc(func(context.Context, changelog.Entry) error { panic("disk full") }),
	}
	for name, sink := range cases {
		t.Run(name, func(t *testing.T) {
			var g gallery
			g = newGallery(t, managed.WithChangeLog(changelog.SinkFunc(func(ctx context.Context,
				e changelog.Entry) error {
				if s := g.get(); meta.GetExternalName(s) == "" || s.Status.ID == "" {
					t.Error("told before it was stored")
				}

				return sink.Record(ctx, e)
			})))
			g.create(nil)
			g.pass()
			g.condition("Synced", "True/ReconcileSuccess")
			g.pass()
			if n := len(g.cloud.Disks()); n != 1 {
				t.Errorf("%d disks", n)
			}
		})
	}
}

// TestASinkThatBlocks verifies that a blocking sink behind a queue delays nothing.
func TestASinkThatBlocks(t *testing.T) {
	entered, release := make(chan struct{}, 1), make(chan struct{})
	blocked := changelog.SinkFunc(func(context.Context, changelog.Entry) error {
		entered <- struct{}{}
		<-release

		return nil
	})
	queue := changelog.NewQueue(blocked, changelog.WithBuffer(1))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- queue.Start(ctx) }()
	g := newGallery(t, managed.WithChangeLog(queue))
	g.create(nil)
	g.pass()
	<-entered
	for size := range int64(5) {
		g.change(func(s *volume.Snapshot) { s.Spec.SizeGiB = size + 2 })
		g.pass()
	}
	if got := queue.Dropped(); got != 4 {
		t.Errorf("%d entries were dropped, want those beyond the one in work and the one that waits", got)
	}
	close(release)
	stop()
	if err := <-ended; err != nil {
		t.Errorf("queue: %v", err)
	}
}

// TestNoSecretInTheChangeLog verifies that the change log contains no secret that the object knows.
func TestNoSecretInTheChangeLog(t *testing.T) {
	var lines bytes.Buffer
	g := newGallery(t, managed.WithChangeLog(changelog.NewJSON(&lines)))
	g.create(func(s *volume.Snapshot) {
		secretNamed("login")(s)
		meta.AddAnnotations(s, map[string]string{"example.org/note": "the password is password-of-vol-1"})
	})
	g.pass()
	g.cloud.Before = failing("Update", errors.New("refused for password-of-vol-1"))
	g.change(func(s *volume.Snapshot) { s.Annotations["example.org/note"] = ""; s.Spec.SizeGiB = 2 })
	if _, err := g.try(); err == nil || strings.Contains(err.Error(), "password-of") {
		t.Errorf("error %v", err)
	}
	if !strings.Contains(lines.String(), `"operation":"Update"`) ||
		strings.Contains(strings.SplitAfterN(lines.String(), "\n", 2)[1], "password-of-vol-1") {
		t.Errorf("log: %s", lines.String())
	}
}
