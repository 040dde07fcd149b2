package syncer

import (
	"slices"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
)

// A ConflictPolicy defines what the syncer does if the host name of a virtual object is taken by a
// host object that the virtual object does not own.
type ConflictPolicy string

// The conflict policies. The empty value means ConflictError.
const (
	// ConflictError does not change the host object. The syncer emits a Warning event, and the virtual
	// object is requeued with ErrConflict.
	ConflictError ConflictPolicy = "Error"

	// ConflictIgnore does not change the host object. The syncer emits no event.
	ConflictIgnore ConflictPolicy = "Ignore"

	// ConflictAdopt calls Sync for a host object without an owner, and for a host object whose owner is in another virtual
	// cluster of the same name. A host object of another virtual object in the same virtual cluster remains a conflict.
	ConflictAdopt ConflictPolicy = "Adopt"

	// ConflictOverwrite calls Sync for any host object. Two virtual objects can then share a host
	// object, and each overwrites the changes of the other.
	ConflictOverwrite ConflictPolicy = "Overwrite"
)

// A UIDPolicy defines what the syncer does if a virtual object was deleted and recreated before the syncer noticed the
// deletion. In this case the annotations of the host object contain the UID of the former virtual object.
type UIDPolicy string

// The UID policies. The empty value means UIDRecreate.
const (
	// UIDRecreate deletes the host object and creates a new one.
	UIDRecreate UIDPolicy = "Recreate"

	// UIDIgnore keeps the host object for the new virtual object.
	UIDIgnore UIDPolicy = "Ignore"
)

// A DeletionPolicy defines whether the host object or the virtual object is deleted first.
type DeletionPolicy string

// The deletion policies. The empty value means AfterVirtual.
const (
	// AfterVirtual deletes the host object after the virtual object is gone.
	AfterVirtual DeletionPolicy = "AfterVirtual"

	// BeforeVirtual deletes the host object when the virtual object is being deleted. A finalizer
	// keeps the virtual object until the host object is gone.
	BeforeVirtual DeletionPolicy = "BeforeVirtual"
)

// A Confirmation defines how the syncer confirms that a virtual object is gone. It does so before
// it deletes the host object.
type Confirmation string

// The confirmations. The empty value means ConfirmLive.
const (
	// ConfirmLive reads the virtual object from the virtual API server. Before and after this read, the syncer compares
	// the UID of the kube-system namespace with the UID at the start. These three reads cost three requests per deletion.
	ConfirmLive Confirmation = "Live"

	// ConfirmCached relies on the cache. If the virtual API server loses its data, all host objects are deleted. The
	// exception is a manager that uses a configuration that Guard has returned.
	ConfirmCached Confirmation = "Cached"
)

// Options are the options of a syncer. The zero value uses the default of each field, which is the
// safe choice.
type Options struct {
	// MaxConcurrentReconciles is the number of workers. With more than one worker, a Starter is called
	// concurrently. Default: 1.
	MaxConcurrentReconciles int

	// OnConflict defines what happens if the host name of a virtual object is taken. Default:
	// ConflictError.
	OnConflict ConflictPolicy

	// UIDPolicy defines what happens to the host object of a virtual object that was recreated.
	// Default: UIDRecreate.
	UIDPolicy UIDPolicy

	// HostDeletion defines which of the two objects is deleted first. Default: AfterVirtual.
	HostDeletion DeletionPolicy

	// ConfirmAbsence defines how the absence of a virtual object is confirmed. Default: ConfirmLive.
	ConfirmAbsence Confirmation

	// FieldOwner is the field manager of host objects. Default: translator.DefaultFieldOwner of the
	// syncer's name.
	FieldOwner string

	// Recorder records events about virtual objects. Default: the recorder of the
	// virtual manager, with repeated events dropped.
	Recorder event.Recorder

	// SlowRecheck is the requeue interval for objects for which no event is expected, such as an
	// object that the API server rejects. A value of zero or less means DefaultSlowRecheck.
	SlowRecheck time.Duration

	legacy bool // the rules that have no option of their own: see LegacyOptions
}

// LegacyOptions returns options that restore the behavior of vcluster-sdk v0.4, for which plugins
// were first written. They are less safe than the defaults:
//
//   - Sync is called for host objects of other owners, and for host objects of former virtual
//     objects.
//   - Host objects are deleted without a live read and without preconditions, and replaced instead
//     of patched.
//   - A virtual object that is being deleted gets a host object again.
//   - An event is dropped if IsManaged fails.
func LegacyOptions() Options {
	return Options{
		OnConflict:     ConflictOverwrite,
		UIDPolicy:      UIDIgnore,
		ConfirmAbsence: ConfirmCached,
		legacy:         true,
	}
}

// An OptionsProvider is a syncer that returns its own options. RegisterSyncer uses these options.
type OptionsProvider interface {
	SyncerOptions() Options
}

// DefaultSlowRecheck is the default of Options.SlowRecheck.
const DefaultSlowRecheck = 10 * time.Minute

// complete sets the defaults. It returns an error for an unknown value.
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
