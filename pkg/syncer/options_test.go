package syncer

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/syncer/internal/pass"
)

// recording is a manager that notes for whom it makes recorders.
type recording struct {
	*fake.Manager

	of *[]string
}

func (r recording) GetEventRecorder(name string) recorder.EventRecorder {
	*r.of = append(*r.of, name)
	return r.Manager.GetEventRecorder(name)
}

// TestOptionsAreCompleted: what is not said gets its default, what is said stays, and what nobody knows is refused by its name.
func TestOptionsAreCompleted(t *testing.T) {
	given := event.NewNopRecorder()
	all := Options{
		MaxConcurrentReconciles: 3, OnConflict: ConflictIgnore, UIDPolicy: UIDIgnore, HostDeletion: BeforeVirtual, ConfirmAbsence: ConfirmCached,
		FieldOwner: "me", SlowRecheck: 1, Recorder: given,
	}
	defaults := Options{MaxConcurrentReconciles: 1, FieldOwner: "moorage-syncer-boats", SlowRecheck: 10 * time.Minute, Recorder: given}
	with := func(change func(*Options)) Options {
		o := defaults
		change(&o)
		return o
	}
	cases := map[string]struct {
		reason string
		o      Options
		want   Options
		err    string
	}{
		"Defaults": {"Nothing is said.", Options{Recorder: given}, defaults, ""},
		"All":      {"All is said.", all, all, ""},
		"Negative": {"No syncer does without a worker, nor looks again before now.", Options{MaxConcurrentReconciles: -1, SlowRecheck: -1, Recorder: given}, defaults, ""},
		"Said": {"The defaults are said.", Options{OnConflict: ConflictError, UIDPolicy: UIDRecreate, HostDeletion: AfterVirtual, ConfirmAbsence: ConfirmLive, Recorder: given}, with(func(o *Options) {
			o.OnConflict, o.UIDPolicy, o.HostDeletion, o.ConfirmAbsence = ConflictError, UIDRecreate, AfterVirtual, ConfirmLive
		}), ""},
		"Adopt":      {"Another value.", Options{OnConflict: ConflictAdopt, Recorder: given}, with(func(o *Options) { o.OnConflict = ConflictAdopt }), ""},
		"Overwrite":  {"And another.", Options{OnConflict: ConflictOverwrite, Recorder: given}, with(func(o *Options) { o.OnConflict = ConflictOverwrite }), ""},
		"OnConflict": {"Nobody knows it.", Options{OnConflict: "x"}, Options{}, `option OnConflict of syncer "boats" has a value that is not known`},
		"UIDPolicy":  {"Nobody knows it.", Options{UIDPolicy: "x"}, Options{}, `option UIDPolicy of syncer "boats" has a value that is not known`},
		"Deletion":   {"Nobody knows it.", Options{HostDeletion: "x"}, Options{}, `option HostDeletion of syncer "boats" has a value that is not known`},
		"Absence":    {"Nobody knows it.", Options{ConfirmAbsence: "x"}, Options{}, `option ConfirmAbsence of syncer "boats" has a value that is not known`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var of []string
			ctx := &synccontext.RegisterContext{VirtualManager: recording{&fake.Manager{}, &of}}
			got, err := tc.o.complete(ctx, "boats")
			if tc.err != "" {
				if err == nil || err.Error() != tc.err {
					t.Errorf("%s\ngot error %v, want %q", tc.reason, err, tc.err)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(Options{}), cmp.Comparer(func(a, b event.Recorder) bool { return a == b })); diff != "" || err != nil || of != nil {
				t.Errorf("%s\nerror %v, recorders %q, -want, +got:\n%s", tc.reason, err, of, diff)
			}
			tc.o.Recorder = nil
			if got, err = tc.o.complete(ctx, "boats"); err != nil || got.Recorder == nil || !cmp.Equal(of, []string{"boats-syncer"}) {
				t.Errorf("%s\nwithout a recorder: error %v, recorder %v, recorders %q", tc.reason, err, got.Recorder, of)
			}
		})
	}
}

// owning is a syncer that brings options.
type owning struct{ Syncer }

func (owning) SyncerOptions() Options { return Options{FieldOwner: "me"} }

// TestOutside: outside of a pass, host objects are written under the field owner of the options that a syncer brings, and the call ends with its context.
func TestOutside(t *testing.T) {
	type key struct{}
	reg := &synccontext.RegisterContext{Context: t.Context(), VirtualManager: &fake.Manager{}, PhysicalManager: &fake.Manager{}, TargetNamespace: "quay"}
	ctx := context.WithValue(t.Context(), key{}, "call")
	for want, s := range map[string]Syncer{"": leading{}, "me": owning{leading{}}} {
		sync := Outside(ctx, reg, s, "boats")
		if p := pass.From(sync.Context); p == nil || p.FieldOwner != want || sync.Context.Value(key{}) != "call" || sync.TargetNamespace != "quay" {
			t.Errorf("%T: got %v in %v", s, p, sync.Context)
		}
	}
}

// doubting is a syncer that knows the name of a host object, and cannot tell whether that is managed.
type doubting struct{ leading }

func (doubting) IsManaged(client.Object) (bool, error) { return false, errors.New("doubt") }

// nameless is one that knows no name either.
type nameless struct{ doubting }

func (nameless) PhysicalToVirtual(client.Object) types.NamespacedName { return types.NamespacedName{} }

// TestVirtualName: a name that is known is believed; only where there is none it is asked why.
func TestVirtualName(t *testing.T) {
	if got, err := VirtualName(doubting{}, configMap("a", "7", false)); err != nil || got.String() != "virtual/a" {
		t.Errorf("got %s, %v", got, err)
	}
	if got, err := VirtualName(nameless{}, configMap("a", "7", false)); err == nil || got.Name != "" {
		t.Errorf("got %s, %v", got, err)
	}
}
