package managed_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// refusingSecrets rejects writes of Secrets after Create until the result is set to false.
func refusingSecrets(g gallery) *bool {
	refused := true
	g.answer = func(_ context.Context, note string) error {
		if refused && strings.HasPrefix(note, "create secret") && g.cloud.Count("Create") > 0 {
			return errLost
		}

		return nil
	}

	return &refused
}

// TestACreateThatTellsNothing verifies that a Create without connection details leaves no pending annotation,
// unless it may have lost them.
func TestACreateThatTellsNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"it succeeds":                      {nil, ""},
		"it has made nothing for sure":     {external.NotCreated(errors.New("boom")), ""},
		"nobody knows whether it has made": {context.DeadlineExceeded, "pending"},
	} {
		g := newGallery(t, managed.WithCreationConnectionDetails())
		g.cloud.Before = failing("Create", tc.err)
		g.create(secretNamed("login"))
		_, _ = g.try()
		if got := g.get().Annotations[meta.AnnotationKeyCreationDetails]; got != tc.want {
			t.Errorf("%s: the object says %q, want %q", name, got, tc.want)
		}
	}
}

// TestASecretThatTheObjectHasAlready verifies that an existing Secret is checked by a dry run with its UID.
func TestASecretThatTheObjectHasAlready(t *testing.T) {
	g := keyGallery(t)
	g.Create(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: "login", UID: "uid-of-login",
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: volume.GroupVersion.String(), Kind: "Snapshot", Name: key.Name,
				UID: "uid-1", Controller: new(true),
			}},
		},
		Data: map[string][]byte{"other": []byte("kept")},
	})
	g.create(secretNamed("login"))
	g.pass()
	if s := g.secret("login"); g.key() != accessKey || string(s.Data["other"]) != "kept" ||
		g.cloud.Count("Create") != 1 {
		t.Errorf("%d calls of Create, and the Secret has %v", g.cloud.Count("Create"), s.Data)
	}
	if first := g.requests[slices.IndexFunc(g.requests,
		func(r string) bool {
			return strings.HasPrefix(r,
				"patch secret")
		})]; first != `patch secret {"metadata":{"uid":"uid-of-login"},"data":{"moorage.dev.dry-run":""}}` {
		t.Errorf("it was asked by %s", first)
	}
}

// TestASecretOfAnotherOwnerBeforeCreate verifies that a Secret of another owner is reported before Create, also
// while it is being deleted, with the command that gives it to the object if it has no owner.
func TestASecretOfAnotherOwnerBeforeCreate(t *testing.T) {
	for name, going := range map[string]bool{"it stays": false, "it is being deleted": true} {
		g := keyGallery(t)
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: "login", Finalizers: []string{"example.org/theirs"},
		}}
		g.Create(s)
		if going {
			g.Delete(s)
		}
		g.create(secretNamed("login"))
		_, _ = g.try()
		got := g.get()
		c := got.GetCondition(commonv1.TypeSynced)
		if g.cloud.Count("Create") != 0 || c.Reason != commonv1.ReasonConnectionSecretNotOwned ||
			!strings.Contains(c.Message, "kubectl patch secret login --namespace "+key.Namespace) {
			t.Errorf("%s: it says %v", name, c)
		}
	}
}

// TestTheFirstWriteOfDetailsIsShort verifies that the first write of connection details ends after five seconds:
// the external name waits for it.
func TestTheFirstWriteOfDetailsIsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := keyGallery(t)
		var waited []time.Duration
		g.answer = func(ctx context.Context, note string) error {
			if strings.HasPrefix(note, "create secret") && g.cloud.Count("Create") > 0 {
				start := time.Now()
				<-ctx.Done()
				waited = append(waited, time.Since(start))

				return ctx.Err()
			}

			return nil
		}
		g.create(secretNamed("login"))
		_, _ = g.try()
		if len(waited) == 0 || waited[0] != 5*time.Second {
			t.Errorf("the writes were waited for for %v", waited)
		}
	})
}

// TestDetailsArePublishedLateOnce verifies that details that were published late are not published again: a later
// change by a user stays.
func TestDetailsArePublishedLateOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := keyGallery(t)
		refused := refusingSecrets(g)
		g.create(secretNamed("login"))
		_, _ = g.try()
		*refused = false
		g.pass()
		if got := g.key(); got != accessKey {
			t.Fatalf("the Secret has %q", got)
		}
		s := g.secret("login")
		g.Change(s, func() { s.Data["key"] = []byte("rotated") })
		g.pass()
		if got := g.key(); got != "rotated" {
			t.Errorf("the Secret has %q again", got)
		}
	})
}

// TestTheEventOfLostConnectionDetails verifies that the event about lost connection details has the documented
// reason, names the Secret, and that its write counts as that of a result.
func TestTheEventOfLostConnectionDetails(t *testing.T) {
	for name, tc := range map[string]struct {
		secret func(*volume.Snapshot)
		want   string
	}{
		"a Secret":           {secretNamed("login"), "Secret login may lack"},
		"no Secret any more": {func(*volume.Snapshot) {}, "what is published may lack"},
	} {
		registry := prometheus.NewRegistry()
		g := keyGallery(t, managed.WithMetricsRegisterer(registry))
		g.cloud.Put(volume.Disk{ID: "vol-0", SizeGiB: 1})
		g.create(func(s *volume.Snapshot) {
			tc.secret(s)
			s.Finalizers = []string{managed.FinalizerName}
			at := g.clock.Now().UTC().Format(time.RFC3339)
			s.Annotations = map[string]string{
				meta.AnnotationKeyExternalName: "vol-0", meta.AnnotationKeyCreationDetails: "pending",
				meta.AnnotationKeyExternalCreatePending: at, meta.AnnotationKeyExternalCreateSucceeded: at,
			}
		})
		g.pass()
		reported := false
		for _, e := range g.events {
			reported = reported || e.Reason == "ConnectionDetailsLost" && strings.Contains(e.Message, tc.want)
		}
		if !reported {
			t.Errorf("%s: events %v", name, g.events)
		}
		if got := metric(t, registry, "moorage_managed_writes_total changed=true what=result"); got != 1 {
			t.Errorf("%s: writes %v", name, got)
		}
	}
}

// TestDetailsAreTriedAgainInTheSamePass verifies that details that could not be published at once are retried once
// the result of the creation is stored, also if it is unknown.
func TestDetailsAreTriedAgainInTheSamePass(t *testing.T) {
	for name, failed := range map[string]error{
		"it succeeds": nil, "nobody knows": external.MaybeCreated(errors.New("boom")),
	} {
		synctest.Test(t, func(t *testing.T) {
			g := keyGallery(t)
			tell := g.cloud.After
			g.cloud.After = func(ctx context.Context, call string, mg resource.Managed) error {
				if err := tell(ctx, call, mg); err != nil || call != "Create" {
					return err
				}

				return failed
			}
			var tried []map[string]string // the annotations at each try
			g.answer = func(_ context.Context, note string) error {
				if !strings.HasPrefix(note, "create secret") || g.cloud.Count("Create") == 0 {
					return nil
				}
				if tried = append(tried, g.get().Annotations); len(tried) == 1 {
					return errLost
				}

				return nil
			}
			g.create(secretNamed("login"))
			if _, err := g.try(); !errors.Is(err, failed) {
				t.Errorf("%s: error %v", name, err)
			}
			if got := g.key(); got != accessKey || len(tried) < 2 {
				t.Fatalf("%s: after %d tries the Secret has %q", name, len(tried), got)
			}
			const succeeded, fails = meta.AnnotationKeyExternalCreateSucceeded, meta.AnnotationKeyExternalCreateFailed
			if first, then := tried[0], tried[1]; first[succeeded]+first[fails] != "" ||
				then[succeeded]+then[fails] == "" {
				t.Errorf("%s: the result is stored before the first try: %v, and before the second: %v", name, first,
					then)
			}
		})
	}
}

// TestHowLongDetailsAreTried verifies that the attempts to publish details end after half a minute: five seconds,
// and twenty-five once the result is stored. The next pass retries.
func TestHowLongDetailsAreTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := keyGallery(t)
		var tried []time.Time
		g.answer = func(ctx context.Context, note string) error {
			if strings.HasPrefix(note, "create secret") && g.cloud.Count("Create") > 0 {
				tried = append(tried, time.Now())
				<-ctx.Done()

				return ctx.Err()
			}

			return nil
		}
		g.create(secretNamed("login"))
		_, _ = g.try()
		if n := len(tried); n < 3 || tried[n-1].Sub(tried[0]) != 30*time.Second {
			t.Errorf("tried at %v", tried)
		}
	})
}

// TestNothingIsRememberedOfARefusedCreation verifies that an attempt that was not begun because details could not
// be published is not remembered.
func TestNothingIsRememberedOfARefusedCreation(t *testing.T) {
	in := &objectstate.Handle{}
	g := keyGallery(t, managed.WithObjectStates(in))
	g.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "login"}})
	g.create(secretNamed("login"))
	_, _ = g.try()
	if r := g.remembered(in); len(r.Uncalled) > 0 || g.cloud.Count("Create") != 0 {
		t.Errorf("remembered are %v, after %d calls of Create", r.Uncalled, g.cloud.Count("Create"))
	}
}

// TestADeletedObjectPublishesNothing verifies that a Create that is repeated for a deleted object publishes no
// details.
func TestADeletedObjectPublishesNothing(t *testing.T) {
	g := keyGallery(t, managed.WithCreationTokens())
	g.cloud.Tokens = true
	tell := g.cloud.After
	g.cloud.After = lost()
	g.create(secretNamed("login"))
	_, _ = g.try()
	g.delete()
	g.cloud.After = tell
	g.requests = nil
	for range 3 {
		g.clock.SetTime(g.clock.Now().Add(time.Minute))
		if _, _ = g.try(); g.gone() {
			break
		}
	}
	if n := g.cloud.Count("Create"); n != 2 {
		t.Errorf("%d calls of Create", n)
	}
	if all := strings.Join(g.requests, "\n"); strings.Contains(all, "secret") {
		t.Errorf("requests:\n%s", all)
	}
}

// TestDetailsThatACutOffCreateDidNotTell verifies that details of an interrupted Create are reported as lost once
// its resource is found, also by a process that has settled the details of an earlier attempt.
func TestDetailsThatACutOffCreateDidNotTell(t *testing.T) {
	g := keyGallery(t)
	g.cloud.Window = time.Second
	g.cloud.After = nil
	g.create(secretNamed("login"))
	g.cloud.Before = failing("Create", external.NotCreated(errors.New("boom")))
	_, _ = g.try()
	g.clock.SetTime(g.clock.Now().Add(g.cloud.Window)) // after that nothing of an earlier process is found any more
	_, _ = g.try()
	g.cloud.Before, g.cloud.After = nil, lost()
	for range 3 {
		_, _ = g.try()
	}
	if _, _, events := g.taken(); strings.Count(events, "Warning/ConnectionDetailsLost") != 1 {
		t.Errorf("events %s", events)
	}
	if got := g.get().Annotations[meta.AnnotationKeyCreationDetails]; got != "lost" {
		t.Errorf("the object says %q", got)
	}
}

// TestSettledDetailsCountAsAResult verifies that settling the details is a write of the result.
func TestSettledDetailsCountAsAResult(t *testing.T) {
	const results = "moorage_managed_writes_total changed=true what=result"
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		g := keyGallery(t, managed.WithMetricsRegisterer(registry))
		refused := refusingSecrets(g)
		g.create(secretNamed("login"))
		_, _ = g.try()
		before := metric(t, registry, results)
		if failed := metric(t, registry, "moorage_managed_writes_total changed=false what=secret"); failed != 0 {
			t.Errorf("%v writes of a Secret that were refused count as such that change nothing", failed)
		}
		*refused = false
		g.pass()
		if got := metric(t, registry, results); before != 1 || got != 2 {
			t.Errorf("published late: %v writes of a result, and %v before", got, before)
		}

		g.annotate(meta.AnnotationKeyCreationDetails, "pending") // from a manifest
		g.pass()
		if got := metric(t, registry, results); got != 3 {
			t.Errorf("published before: %v writes of a result", got)
		}
		if _, has := g.get().Annotations[meta.AnnotationKeyCreationDetails]; has {
			t.Error("the object says that they are pending")
		}
	})
}

// TestLostDetailsThatCannotBeNoted verifies that an observation is used although the loss of details cannot be
// stored.
func TestLostDetailsThatCannotBeNoted(t *testing.T) {
	g := keyGallery(t)
	g.cloud.Put(volume.Disk{ID: "vol-0", SizeGiB: 1})
	g.create(func(s *volume.Snapshot) {
		secretNamed("login")(s)
		s.Finalizers = []string{managed.FinalizerName}
		at := g.clock.Now().UTC().Format(time.RFC3339)
		s.Annotations = map[string]string{
			meta.AnnotationKeyExternalName: "vol-0", meta.AnnotationKeyCreationDetails: "pending",
			meta.AnnotationKeyExternalCreatePending: at, meta.AnnotationKeyExternalCreateSucceeded: at,
		}
	})
	g.answer = func(_ context.Context, note string) error {
		if strings.HasPrefix(note, "patch {") {
			return errLost
		}

		return nil
	}
	if _, err := g.try(); !errors.Is(err, errLost) {
		t.Errorf("error %v", err)
	}
	g.condition(commonv1.TypeCreated, "True/Observed")
}

// TestACreateBesideDetailsThatWait verifies that details of a failed Create wait while no Secret is named, and that
// the next Create does not wait for them.
func TestACreateBesideDetailsThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := keyGallery(t)
		tell := g.cloud.After
		refused := refusingSecrets(g)
		g.cloud.Before = func(ctx context.Context, call string, mg resource.Managed) error {
			if call != "Create" || !*refused {
				return nil
			}

			_ = tell(ctx, call, mg)

			return external.NotCreated(errors.New("boom"))
		}
		g.cloud.After = nil
		g.create(secretNamed("login"))
		_, _ = g.try()
		*refused = false
		g.change(func(s *volume.Snapshot) { s.Spec.WriteConnectionSecretToRef = nil })
		g.requests = nil
		g.pass()
		if all := strings.Join(g.requests, "\n"); strings.Contains(all, "secret") || len(g.cloud.Disks()) != 1 {
			t.Errorf("disks %v, requests:\n%s", g.cloud.Disks(), all)
		}
		g.condition(commonv1.TypeSynced, "True/ReconcileSuccess")
		g.change(secretNamed("login"))
		g.pass()
		if got := g.key(); got != accessKey {
			t.Errorf("the Secret has %q", got)
		}
	})
}

// TestDetailsOfADeletedObjectAreForgotten verifies that details that wait for a Secret are dropped when the object
// is deleted.
func TestDetailsOfADeletedObjectAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := &objectstate.Handle{}
		g := keyGallery(t, managed.WithObjectStates(in))
		refusingSecrets(g)
		g.create(func(s *volume.Snapshot) {
			secretNamed("login")(s)
			s.Finalizers = []string{"example.org/theirs"}
		})
		_, _ = g.try()
		if len(g.remembered(in).Undelivered) == 0 {
			t.Error("nothing waits")
		}
		g.delete()
		_, _ = g.try()
		if undelivered := g.remembered(in).Undelivered; len(undelivered) > 0 {
			t.Errorf("%d details wait", len(undelivered))
		}
	})
}

// TestDetailsStaySettledWhileACreationIsRefused verifies that details stay settled while the next creation is
// rejected, although the object has the pending annotation.
func TestDetailsStaySettledWhileACreationIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := keyGallery(t)
		g.cloud.After = nil
		g.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "theirs"}})
		refused := false
		g.answer = func(_ context.Context, note string) error {
			if refused && strings.HasPrefix(note, "patch {") {
				return errLost
			}

			return nil
		}
		g.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
			if refused = refused || call == "Create"; refused && call == "Create" {
				return external.NotCreated(errors.New("boom"))
			}

			return nil
		}
		g.create(secretNamed("login"))
		_, _ = g.try()
		refused, g.cloud.Before = false, nil
		g.change(secretNamed("theirs"))
		_, _ = g.try()
		g.condition(commonv1.TypeSynced, "False/ConnectionSecretNotOwned")
		if got := g.get().Annotations[meta.AnnotationKeyCreationDetails]; got != "pending" {
			t.Errorf("the object says %q", got)
		}
		g.cloud.Put(volume.Disk{ID: "vol-9", SizeGiB: 1})
		g.change(func(s *volume.Snapshot) { meta.SetExternalName(s, "vol-9") })
		g.taken()
		g.pass()
		if _, _, events := g.taken(); strings.Contains(events, "ConnectionDetailsLost") {
			t.Errorf("events %s", events)
		}
		if got, has := g.get().Annotations[meta.AnnotationKeyCreationDetails]; has {
			t.Errorf("the object says %q", got)
		}
	})
}

// TestTheSecretOfTheOneBefore verifies that a restored object may write to the Secret of the original whose
// resource it took over, and to no other.
func TestTheSecretOfTheOneBefore(t *testing.T) {
	for owner, want := range map[types.UID]int{"uid-0": 1, "uid-7": 0} {
		g := keyGallery(t)
		g.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: "login",
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: volume.GroupVersion.String(), Kind: "Snapshot", Name: key.Name,
				UID: owner, Controller: new(true),
			}},
		}})
		g.create(func(s *volume.Snapshot) {
			secretNamed("login")(s)
			s.Annotations = map[string]string{meta.AnnotationKeyRestoredOwner: "uid-1/uid-0"}
		})
		_, _ = g.try()
		if n := g.cloud.Count("Create"); n != want {
			t.Errorf("the Secret of %s: %d calls of Create, and it says %v", owner, n,
				g.get().GetCondition(commonv1.TypeSynced))
		}
	}
}
