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
	"github.com/moorage-dev/moorage/pkg/syncer/internal/passcontext"
)

// A recorderManager records the names of event recorders.
type recorderManager struct {
	*fake.Manager

	names *[]string
}

func (r recorderManager) GetEventRecorder(name string) recorder.EventRecorder {
	*r.names = append(*r.names, name)
	return r.Manager.GetEventRecorder(name)
}

// TestOptionsComplete verifies the defaults, that given values are kept, and that unknown
// values are errors that name the option.
func TestOptionsComplete(t *testing.T) {
	given := event.NewNopRecorder()
	all := Options{
		MaxConcurrentReconciles: 3, OnConflict: ConflictIgnore, UIDPolicy: UIDIgnore,
		HostDeletion: BeforeVirtual, ConfirmAbsence: ConfirmCached,
		FieldOwner: "me", SlowRecheck: 1, Recorder: given,
	}
	defaults := Options{
		MaxConcurrentReconciles: 1, FieldOwner: "moorage-syncer-widgets", SlowRecheck: 10 * time.Minute, Recorder: given,
	}
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
		"Defaults": {"No options.", Options{Recorder: given}, defaults, ""},
		"All":      {"All options.", all, all, ""},
		"Negative": {
			"Negative values mean the defaults.", Options{MaxConcurrentReconciles: -1, SlowRecheck: -1, Recorder: given},
			defaults, "",
		},
		"Said": {
			"The defaults are given.",
			Options{
				OnConflict: ConflictError, UIDPolicy: UIDRecreate, HostDeletion: AfterVirtual, ConfirmAbsence: ConfirmLive,
				Recorder: given,
			},
			with(func(o *Options) {
				o.OnConflict, o.UIDPolicy, o.HostDeletion, o.ConfirmAbsence = ConflictError, UIDRecreate, AfterVirtual, ConfirmLive
			}),
			"",
		},
		"Adopt": {
			"Another value.", Options{OnConflict: ConflictAdopt, Recorder: given},
			with(func(o *Options) { o.OnConflict = ConflictAdopt }), "",
		},
		"Overwrite": {
			"Another value.", Options{OnConflict: ConflictOverwrite, Recorder: given},
			with(func(o *Options) { o.OnConflict = ConflictOverwrite }), "",
		},
		"OnConflict": {
			"The value is unknown.", Options{OnConflict: "x"}, Options{},
			`option OnConflict of syncer "widgets" has an unknown value`,
		},
		"UIDPolicy": {
			"The value is unknown.", Options{UIDPolicy: "x"}, Options{},
			`option UIDPolicy of syncer "widgets" has an unknown value`,
		},
		"Deletion": {
			"The value is unknown.", Options{HostDeletion: "x"}, Options{},
			`option HostDeletion of syncer "widgets" has an unknown value`,
		},
		"Absence": {
			"The value is unknown.", Options{ConfirmAbsence: "x"}, Options{},
			`option ConfirmAbsence of syncer "widgets" has an unknown value`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var of []string
			ctx := &synccontext.RegisterContext{VirtualManager: recorderManager{&fake.Manager{}, &of}}
			got, err := tc.o.complete(ctx, "widgets")
			if tc.err != "" {
				if err == nil || err.Error() != tc.err {
					t.Errorf("%s\ngot error %v, want %q", tc.reason, err, tc.err)
				}
				return
			}
			if diff := cmp.Diff(
				tc.want, got, cmp.AllowUnexported(Options{}), cmp.Comparer(
					func(a, b event.Recorder) bool { return a == b })); diff != "" || err != nil || of != nil {
				t.Errorf("%s\nerror %v, recorders %q, -want, +got:\n%s", tc.reason, err, of, diff)
			}
			tc.o.Recorder = nil
			if got, err = tc.o.complete(ctx, "widgets"); err != nil || got.Recorder == nil ||
				!cmp.Equal(of, []string{"widgets-syncer"}) {
				t.Errorf("%s\nwithout a recorder: error %v, recorder %v, recorders %q", tc.reason, err, got.Recorder, of)
			}
		})
	}
}

// An optionsSyncer defines its own options.
type optionsSyncer struct{ Syncer }

func (optionsSyncer) SyncerOptions() Options { return Options{FieldOwner: "me"} }

// TestNewCallContext verifies that the context uses the field owner of the syncer's
// options and ends with the given context.
func TestNewCallContext(t *testing.T) {
	type key struct{}
	reg := &synccontext.RegisterContext{
		Context: t.Context(), VirtualManager: &fake.Manager{}, PhysicalManager: &fake.Manager{}, TargetNamespace: "host-ns",
	}
	ctx := context.WithValue(t.Context(), key{}, "call")
	for want, s := range map[string]Syncer{"": mappingSyncer{}, "me": optionsSyncer{mappingSyncer{}}} {
		sync := NewCallContext(ctx, reg, s, "widgets")
		if p := passcontext.From(sync.Context); p == nil || p.FieldOwner != want || sync.Context.Value(key{}) != "call" ||
			sync.TargetNamespace != "host-ns" {
			t.Errorf("%T: got %v in %v", s, p, sync.Context)
		}
	}
}

// A failingIsManaged maps host objects, but its IsManaged fails.
type failingIsManaged struct{ mappingSyncer }

func (failingIsManaged) IsManaged(client.Object) (bool, error) {
	return false, errors.New("not available")
}

// A failingLookup maps no host object, and its IsManaged fails.
type failingLookup struct{ failingIsManaged }

func (failingLookup) PhysicalToVirtual(client.Object) types.NamespacedName {
	return types.NamespacedName{}
}

// TestVirtualName verifies that a non-empty name is returned as it is, and that IsManaged
// is called for the error only if the name is empty.
func TestVirtualName(t *testing.T) {
	if got, err := VirtualName(failingIsManaged{}, configMap("a", "7", false)); err != nil || got.String() != "virtual/a" {
		t.Errorf("got %s, %v", got, err)
	}
	if got, err := VirtualName(failingLookup{}, configMap("a", "7", false)); err == nil || got.Name != "" {
		t.Errorf("got %s, %v", got, err)
	}
}
