package syncer

import (
	"slices"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
)

// A ConflictPolicy says what happens if the name that a virtual object has on the
// host belongs to something else.
type ConflictPolicy string

// The conflict policies. The empty one is ConflictError.
const (
	// ConflictError leaves the host object alone, tells the user with a Warning
	// event and returns ErrConflict, so that the pass is repeated.
	ConflictError ConflictPolicy = "Error"

	// ConflictIgnore leaves it alone and tells nobody.
	ConflictIgnore ConflictPolicy = "Ignore"

	// ConflictAdopt calls Sync for an object without a mark, or with that of
	// another virtual cluster of the same name. The image of another virtual object
	// stays a conflict.
	ConflictAdopt ConflictPolicy = "Adopt"

	// ConflictOverwrite calls Sync whatever is there. Two virtual objects can share
	// a host object then, and take turns to overwrite it.
	ConflictOverwrite ConflictPolicy = "Overwrite"
)

// A UIDPolicy says what happens to the image of an object that was deleted and
// created again under its name while nobody looked.
type UIDPolicy string

// The UID policies. The empty one is UIDRecreate.
const (
	// UIDRecreate deletes it and makes a new one.
	UIDRecreate UIDPolicy = "Recreate"

	// UIDIgnore goes on with it.
	UIDIgnore UIDPolicy = "Ignore"
)

// A DeletionPolicy says which of two objects goes first.
type DeletionPolicy string

// The deletion policies. The empty one is AfterVirtual.
const (
	// AfterVirtual deletes the host object when the virtual one is gone.
	AfterVirtual DeletionPolicy = "AfterVirtual"

	// BeforeVirtual keeps the virtual object with a finalizer until the host object
	// is gone.
	BeforeVirtual DeletionPolicy = "BeforeVirtual"
)

// A Confirmation says whom to believe that a virtual object is gone.
type Confirmation string

// The confirmations. The empty one is ConfirmLive.
const (
	// ConfirmLive asks the virtual API server for the object, and before and after
	// that for the UID of its kube-system namespace, which must be that of the start.
	// It costs three requests per deletion.
	ConfirmLive Confirmation = "Live"

	// ConfirmCached believes the cache: unless its manager is guarded, see Guard, a
	// virtual API server that lost its data empties the host.
	ConfirmCached Confirmation = "Cached"
)

// Options of a syncer. The zero value is safe.
type Options struct {
	// MaxConcurrentReconciles is the number of workers. Default: 1. With more, a
	// Starter is called from several of them at a time.
	MaxConcurrentReconciles int

	// OnConflict is what happens if a name is taken on the host. Default:
	// ConflictError.
	OnConflict ConflictPolicy

	// UIDPolicy is what happens to the image of a former object. Default:
	// UIDRecreate.
	UIDPolicy UIDPolicy

	// HostDeletion is which object goes first. Default: AfterVirtual.
	HostDeletion DeletionPolicy

	// ConfirmAbsence is whom to believe that a virtual object is gone. Default:
	// ConfirmLive.
	ConfirmAbsence Confirmation

	// FieldOwner is the field manager of host objects. Default:
	// translator.DefaultFieldOwner of the syncer's name.
	FieldOwner string

	// Recorder records events about virtual objects. Default: the virtual
	// manager's, without repetitions.
	Recorder event.Recorder

	// SlowRecheck is when something is looked at again that no event is expected
	// for: an object that the API server will not have. Default: 10 minutes.
	SlowRecheck time.Duration

	legacy bool // S4, S5, S7 and S14 as they were: see LegacyOptions
}

// LegacyOptions are those of the runtime that plugins were first written for. They
// trade safety for the old behaviour: Sync is called on host objects of others and
// on images of former objects, host objects are deleted without preconditions and
// because the cache says so, they are replaced as a whole, virtual objects that are
// being deleted get a host object again, and an event is lost if IsManaged fails.
func LegacyOptions() Options {
	return Options{
		OnConflict:     ConflictOverwrite,
		UIDPolicy:      UIDIgnore,
		ConfirmAbsence: ConfirmCached,
		legacy:         true,
	}
}

// An OptionsProvider brings its own options. RegisterSyncer uses them.
type OptionsProvider interface {
	SyncerOptions() Options
}

// DefaultSlowRecheck is when something is looked at again that no event is expected
// for.
const DefaultSlowRecheck = 10 * time.Minute

// complete fills in defaults and refuses values that nobody knows.
func (o Options) complete(ctx *synccontext.RegisterContext, name string) (Options, error) {
	for what, known := range map[string]bool{
		"OnConflict":     slices.Contains([]ConflictPolicy{"", ConflictError, ConflictIgnore, ConflictAdopt, ConflictOverwrite}, o.OnConflict),
		"UIDPolicy":      slices.Contains([]UIDPolicy{"", UIDRecreate, UIDIgnore}, o.UIDPolicy),
		"HostDeletion":   slices.Contains([]DeletionPolicy{"", AfterVirtual, BeforeVirtual}, o.HostDeletion),
		"ConfirmAbsence": slices.Contains([]Confirmation{"", ConfirmLive, ConfirmCached}, o.ConfirmAbsence),
	} {
		if !known {
			return Options{}, errors.Errorf("option %s of syncer %q has a value that is not known", what, name)
		}
	}
	o.MaxConcurrentReconciles = max(o.MaxConcurrentReconciles, 1)
	if o.FieldOwner == "" {
		o.FieldOwner = translator.DefaultFieldOwner(name)
	}
	if o.SlowRecheck <= 0 {
		o.SlowRecheck = DefaultSlowRecheck
	}
	if o.Recorder == nil {
		o.Recorder = event.NewThrottledRecorder(event.NewRecorder(ctx.VirtualManager.GetEventRecorder(name + "-syncer")))
	}
	return o, nil
}
