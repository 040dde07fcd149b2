package managed_test

import (
	"context"
	"testing"
	"time"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A lookup finds what a test says, within ten seconds.
type lookup struct {
	managed.ExternalClient

	find func(mg resource.Managed) (bool, error)
}

func (l lookup) RecoverCreation(_ context.Context, mg resource.Managed, _ string) (bool, error) {
	return l.find(mg)
}

func (l lookup) RecoveryWindow() time.Duration { return 10 * time.Second }

// interrupted makes an object whose creation was cut off, and the lookup for it.
func interrupted(t *testing.T, name string, find func(resource.Managed) (bool, error)) *world {
	t.Helper()
	w := newWorld(t, managed.WithCreationGracePeriod(0))
	w.wrap(func(c managed.ExternalClient) managed.ExternalClient { return lookup{c, find} })
	w.create(func(v *volume.Volume) {
		if name != "" {
			meta.SetExternalName(v, name)
		}
	})
	w.cloud.Before = failing("Create", httpStatus(500))
	if _, err := w.try(); err == nil {
		t.Error("a creation that was cut off is no error")
	}
	w.cloud.Before = nil
	w.taken()

	return w
}

// TestLookupsThatGoWrong verifies that a failed lookup creates nothing, and is reported by its cause.
func TestLookupsThatGoWrong(t *testing.T) {
	cases := map[string]struct {
		find func(resource.Managed) (bool, error)
		want string
	}{
		"it has no name": {
			func(resource.Managed) (bool, error) { return true, nil },
			"observe failed: what was created was found, and has no external name: RecoverCreation has to set it",
		},
		"it fails": {func(resource.Managed) (bool, error) { return false, errBoom },
			"observe failed: cannot look up what was created: boom"},
		"it fails although it has found": {func(resource.Managed) (bool, error) { return true, errBoom },
			"observe failed: cannot look up what was created: boom"},
		"it panics, as clients sometimes": {func(resource.Managed) (bool, error) { panic("boom") }, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := interrupted(t, "", tc.find)
			_, err := w.try()
			if err == nil || tc.want != "" && err.Error() != tc.want {
				t.Errorf("error %v, want %s", err, tc.want)
			}
			if requests, calls, _ := w.taken(); requests != status || calls != "Connect" || len(w.cloud.Disks()) != 0 {
				t.Errorf("requests %q, calls %q, disks %v", requests, calls, w.cloud.Disks())
			}
		})
	}
}

// TestALookupThatFindsTheNameOfTheObject verifies that a lookup that finds the present name of the object resolves
// the attempt.
func TestALookupThatFindsTheNameOfTheObject(t *testing.T) {
	w := interrupted(t, "vol-7", func(mg resource.Managed) (bool, error) {
		meta.SetExternalName(mg, "vol-7")

		return true, nil
	})
	w.cloud.Put(volume.Disk{ID: "vol-7", SizeGiB: 1})
	w.pass()
	if _, calls, _ := w.taken(); calls != look {
		t.Errorf("calls %q", calls)
	}
	w.condition(commonv1.TypeReady, "True/Available")
	if v := w.get(); v.Annotations[meta.AnnotationKeyExternalCreateSucceeded] == "" ||
		meta.GetExternalName(v) != "vol-7" {
		t.Errorf("annotations %v", v.Annotations)
	}
}

// TestNothingIsCreatedWithinTheWindowOfALookup verifies that nothing is created before the recovery window is over.
func TestNothingIsCreatedWithinTheWindowOfALookup(t *testing.T) {
	w := interrupted(t, "", func(resource.Managed) (bool, error) { return false, nil })
	for _, after := range []time.Duration{0, time.Second, 8 * time.Second} {
		w.clock.SetTime(w.clock.Now().Add(after))
		w.pass()
	}
	if n := w.cloud.Count("Create"); n != 0 {
		t.Errorf("%d creates within the window", n)
	}
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.pass()
	if n := w.cloud.Count("Create"); n != 1 || len(w.cloud.Disks()) != 1 {
		t.Errorf("%d creates after the window, %d disks", n, len(w.cloud.Disks()))
	}
}

// A typed client has what a test wants it to have. It says which call it got, and of which object.
type recordingClient struct {
	managed.TypedExternalClientFns[*volume.Volume]
}

func newRecordingClient() recordingClient {
	say := func(call string) func(context.Context, *volume.Volume) error {
		return func(_ context.Context, v *volume.Volume) error { return errors.New(call + " " + v.Name) }
	}

	return recordingClient{managed.TypedExternalClientFns[*volume.Volume]{
		ObserveFn: func(_ context.Context, v *volume.Volume) (managed.ExternalObservation, error) {
			return managed.ExternalObservation{ResourceExists: true}, errors.New("Observe " + v.Name)
		},
		CreateFn: say("Create"), UpdateFn: say("Update"), DeleteFn: say("Delete"),
	}}
}

type recovers struct{}

func (recovers) RecoverCreation(_ context.Context, v *volume.Volume, token string) (bool, error) {
	return true, errors.New("RecoverCreation " + v.Name + " " + token)
}

func (recovers) RecoveryWindow() time.Duration { return 7 * time.Second }

type lists struct{}

func (lists) ListPage(_ context.Context, token string) (managed.ExternalListPage, error) {
	return managed.ExternalListPage{Continue: token + "+"}, nil
}

func (lists) ObserveListed(_ context.Context, v *volume.Volume, _ any) (managed.ExternalObservation, error) {
	return managed.ExternalObservation{ResourceExists: true}, errors.New("ObserveListed " + v.Name)
}

// TestATypedClientKeepsItsAbilities verifies that a typed client is called with its type only, and keeps its
// optional interfaces.
func TestATypedClientKeepsItsAbilities(t *testing.T) {
	v, other := &volume.Volume{}, &volume.Snapshot{}
	v.Name = "data"
	cases := map[string]struct {
		client          managed.TypedExternalClient[*volume.Volume]
		recovers, lists bool
	}{
		"neither": {newRecordingClient(), false, false},
		"recovers": {struct {
			recordingClient
			recovers
		}{recordingClient: newRecordingClient()}, true, false},
		"lists": {struct {
			recordingClient
			lists
		}{recordingClient: newRecordingClient()}, false, true},
		"both": {struct {
			recordingClient
			recovers
			lists
		}{recordingClient: newRecordingClient()}, true, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			connect := managed.TypedExternalConnectorFn[*volume.Volume](func(context.Context,
				*volume.Volume) (managed.TypedExternalClient[*volume.Volume], error) {
				return tc.client, nil
			})
			c, err := managed.Untyped(connect).Connect(t.Context(), v)
			if err != nil {
				t.Fatal(err)
			}
			calls := map[string]func(resource.Managed) (bool, error){
				"Observe": func(mg resource.Managed) (bool, error) {
					o, err := c.Observe(t.Context(), mg)

					return o.ResourceExists, err
				},
				"Create": func(mg resource.Managed) (bool, error) { return true, c.Create(t.Context(), mg) },
				"Update": func(mg resource.Managed) (bool, error) { return true, c.Update(t.Context(), mg) },
				"Delete": func(mg resource.Managed) (bool, error) { return true, c.Delete(t.Context(), mg) },
			}
			r, recovers := c.(managed.CreationRecoverer)
			if recovers {
				calls["RecoverCreation"] = func(mg resource.Managed) (bool, error) {
					return r.RecoverCreation(t.Context(), mg,
						"token")
				}
				if window := r.RecoveryWindow(); window != 7*time.Second {
					t.Errorf("the window is %s", window)
				}
			}
			l, lists := c.(managed.ExternalLister)
			if lists {
				calls["ObserveListed"] = func(mg resource.Managed) (bool, error) {
					o, err := l.ObserveListed(t.Context(), mg, nil)

					return o.ResourceExists, err
				}
				if page, err := l.ListPage(t.Context(), "a"); err != nil || page.Continue != "a+" {
					t.Errorf("page %+v, %v", page, err)
				}
			}
			if recovers != tc.recovers || lists != tc.lists {
				t.Errorf("recovers %t, lists %t", recovers, lists)
			}
			for call, do := range calls {
				want := call + " data"
				if call == "RecoverCreation" {
					want += " token"
				}
				if is, err := do(v); !is || err == nil || err.Error() != want {
					t.Errorf("%s: %t, %v", call, is, err)
				}
				if is, err := do(other); is &&
					(call == "Observe" || call == "ObserveListed" || call == "RecoverCreation") || err == nil ||
					err.Error() != "unexpected object type *volume.Snapshot" {
					t.Errorf("%s of another type: %t, %v", call, is, err)
				}
			}
		})
	}
}

// TestATypedConnectorWithoutAClient verifies that a typed connector without a client, or with an error, returns
// neither an untyped client.
func TestATypedConnectorWithoutAClient(t *testing.T) {
	for name, tc := range map[string]struct {
		client managed.TypedExternalClient[*volume.Volume]
		err    error
	}{"nothing": {}, "an error": {err: errBoom}, "both": {newRecordingClient(), errBoom}} {
		connect := managed.TypedExternalConnectorFn[*volume.Volume](func(context.Context,
			*volume.Volume) (managed.TypedExternalClient[*volume.Volume], error) {
			return tc.client, tc.err
		})
		if c, err := managed.Untyped(connect).Connect(t.Context(), &volume.Volume{}); c != nil ||
			!errors.Is(err, tc.err) {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
}
