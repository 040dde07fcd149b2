package syncer

import (
	"slices"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
)

// A ConflictPolicy defines what happens if the host name of a virtual object is taken by
// a host object that the virtual object does not own.
type ConflictPolicy string

// The conflict policies. The empty value means ConflictError.
const (
	// ConflictError leaves the host object alone, emits a Warning event and returns
	// ErrConflict, so that the object is requeued.
	ConflictError ConflictPolicy = "Error"

	// ConflictIgnore leaves the host object alone and emits no event.
	ConflictIgnore ConflictPolicy = "Ignore"

	// ConflictAdopt calls Sync for a host object without an owner, or with one in
	// another virtual cluster of the same name. The image of another virtual object in
	// this cluster remains a conflict.
	ConflictAdopt ConflictPolicy = "Adopt"

	// ConflictOverwrite calls Sync for any host object. Two virtual objects can then
	// share a host object and overwrite it in turn.
	ConflictOverwrite ConflictPolicy = "Overwrite"
)

// A UIDPolicy defines what happens to the image of a virtual object that was deleted and
// recreated before the syncer noticed the deletion.
type UIDPolicy string

// The UID policies. The empty value means UIDRecreate.
const (
	// UIDRecreate deletes the image and creates a new one.
	UIDRecreate UIDPolicy = "Recreate"

	// UIDIgnore keeps the image for the new object.
	UIDIgnore UIDPolicy = "Ignore"
)

// A DeletionPolicy defines which of the two objects is deleted first.
type DeletionPolicy string

// The deletion policies. The empty value means AfterVirtual.
const (
	// AfterVirtual deletes the host object when the virtual object is gone.
	AfterVirtual DeletionPolicy = "AfterVirtual"

	// BeforeVirtual keeps the virtual object with a finalizer until the host object
	// is gone.
	BeforeVirtual DeletionPolicy = "BeforeVirtual"
)

// A Confirmation defines how the syncer confirms that a virtual object is gone before it
// deletes the host object.
type Confirmation string

// The confirmations. The empty value means ConfirmLive.
const (
	// ConfirmLive reads the object from the virtual API server. Before and after that
	// it compares the UID of the kube-system namespace with the one at the start. This
	// costs three requests per deletion.
	ConfirmLive Confirmation = "Live"

	// ConfirmCached relies on the cache. Unless the manager uses a configuration
	// returned by Guard, all host objects are deleted if the virtual API server loses
	// its data.
	ConfirmCached Confirmation = "Cached"
)

// Options of a syncer. The zero value is safe.
type Options struct {
	// MaxConcurrentReconciles is the number of workers. Default: 1. With more, a
	// Starter is called concurrently.
	MaxConcurrentReconciles int

	// OnConflict is the policy for a host name that is taken. Default: ConflictError.
	OnConflict ConflictPolicy

	// UIDPolicy is the policy for the image of a former virtual object of that name.
	// Default: UIDRecreate.
	UIDPolicy UIDPolicy

	// HostDeletion is the order of deletion. Default: AfterVirtual.
	HostDeletion DeletionPolicy

	// ConfirmAbsence is how the absence of a virtual object is confirmed. Default:
	// ConfirmLive.
	ConfirmAbsence Confirmation

	// FieldOwner is the field manager of host objects. Default:
	// translator.DefaultFieldOwner of the syncer's name.
	FieldOwner string

	// Recorder records events about virtual objects. Default: the recorder of the
	// virtual manager, with repeated events dropped.
	Recorder event.Recorder

	// SlowRecheck is the requeue interval for objects for which no event is expected,
	// such as one that the API server rejects. Default: 10 minutes.
	SlowRecheck time.Duration

	legacy bool // the rules that have no option of their own: see LegacyOptions
}

// LegacyOptions returns the options that restore the behavior of vcluster-sdk v0.4, for
// which plugins were first written. They are less safe: Sync is called for host objects
// of other owners and for images of former objects; host objects are deleted without a
// live read and without preconditions, and updated as a whole; a virtual object that is
// being deleted gets a host object again; an event is dropped if IsManaged fails.
func LegacyOptions() Options {
	return Options{
		OnConflict:     ConflictOverwrite,
		UIDPolicy:      UIDIgnore,
		ConfirmAbsence: ConfirmCached,
		legacy:         true,
	}
}

// An OptionsProvider is a syncer that defines its own options. RegisterSyncer uses them.
type OptionsProvider interface {
	SyncerOptions() Options
}

// DefaultSlowRecheck is the default of Options.SlowRecheck.
const DefaultSlowRecheck = 10 * time.Minute

// complete sets the defaults and returns an error for an unknown value.
func (o Options) complete(ctx *synccontext.RegisterContext, name string) (Options, error) {
	for what, known := range map[string]bool{
		"OnConflict": slices.Contains(
			[]ConflictPolicy{"", ConflictError, ConflictIgnore, ConflictAdopt, ConflictOverwrite}, o.OnConflict),
		"UIDPolicy":      slices.Contains([]UIDPolicy{"", UIDRecreate, UIDIgnore}, o.UIDPolicy),
		"HostDeletion":   slices.Contains([]DeletionPolicy{"", AfterVirtual, BeforeVirtual}, o.HostDeletion),
		"ConfirmAbsence": slices.Contains([]Confirmation{"", ConfirmLive, ConfirmCached}, o.ConfirmAbsence),
	} {
		if !known {
			return Options{}, errors.Errorf("option %s of syncer %q has an unknown value", what, name)
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
