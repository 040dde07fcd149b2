package managed

import (
	"context"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/mergepatch"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/changelog"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/event"
	gates "github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
	"github.com/moorage-dev/moorage/pkg/reference"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A config has the values that the options of a [Reconciler] set. It does not change after the Reconciler is made.
type config struct {
	externalConfig
	timingConfig
	creationConfig
	objectConfig
	reportingConfig
	processConfig
}

// An externalConfig says how the external system is reached, and what has to allow a call of it.
type externalConfig struct {
	connecter ExternalConnectDisconnecter
	limits    *gates.Set                  // nil: none
	fence     func(context.Context) error // nil: no fence
	lease     func() time.Time            // nil: no deadline
	bulk      bool                        // lists are shared
	staleness time.Duration               // of a list that still counts
	notifier  ExternalEventSource         // nil: no notifications
}

// A timingConfig says how long a pass may take, and when the next one is due.
type timingConfig struct {
	timeout             time.Duration
	pollInterval        time.Duration
	minPollInterval     time.Duration
	pollIntervalHook    PollIntervalHook // nil: a tenth to either side
	watchedPollInterval time.Duration    // while an ExternalEventSource works
	grace               time.Duration    // after a creation
	volatileInterval    time.Duration    // between writes of volatile fields
	spread              bool             // healthy objects are reconciled later after a start
}

// A creationConfig says what makes a creation safe to repeat, and which external resource belongs to an object.
type creationConfig struct {
	named              bool // external names are chosen here
	tokens             bool // a creation is repeated by its token
	strictCreateErrors bool
	detailsOfCreation  bool // only Create returns them
	recreateOnRequest  bool
	restoreElsewhere   bool // what was restored may have another namespace or name than before
	adoption           lifecycle.Adoptions

	adoptionPolicy          string   // as WithAdoptionPolicy was given it, to be validated
	allowedAdoptionPolicies []string // as WithAllowedAdoptionPolicies was given them
}

// An objectConfig says how managed resources are prepared and written, and what their users may ask for.
type objectConfig struct {
	initializers      []Initializer
	resolver          ReferenceResolver // nil: the object itself, if it can
	graph             *reference.Graph
	publisher         ConnectionPublisher           // nil: the Secret that the object names
	secretType        corev1.SecretType             // of Secrets that are made, or the default of the API server
	finalizer         resource.Finalizer            // nil: ours, written together with other things
	critical          CriticalAnnotationUpdater     // nil: a patch of what Create changed
	supported         []commonv1.ManagementPolicies // nil: all
	guards            guards
	ignoredFinalizers map[string]bool
	predecessors      []string // the domains of their annotations
	retired           retired
	volatile          []mergepatch.Path
	kstatus           bool
}

// A reportingConfig says where logs, events, changes, metrics and spans go.
type reportingConfig struct {
	log             logging.Logger
	recorder        event.Recorder
	warningRecorder event.Recorder // nil: recorder
	changes         changelog.Sink // nil: none
	provider        string
	providerVersion string
	observability   telemetry.Options
	inspected       *inspectedKind // nil: no Inspector
}

// A processConfig has what the reconciler knows of its process.
type processConfig struct {
	cluster   Cluster
	watches   []watch                     // besides the kind and referents
	unchecked bool                        // the health endpoint does not ask for held workers
	restores  *controller.RestoreDetector // nil: restores are not detected
	states    *objectstate.Handle         // nil: the memory is not handed out
	planner   *Planner                    // of the manager, if the reconciler only plans; nil: it reconciles
	clock     clock.PassiveClock
	random    func() float64 // uniform in [0,1)
}

// defaultConfig returns the config of a reconciler without options.
func defaultConfig(c Cluster) config {
	return config{
		externalConfig: externalConfig{connecter: NewNopDisconnecter(&NopConnecter{})},
		timingConfig: timingConfig{
			timeout:          defaultTimeout,
			pollInterval:     defaultPollInterval,
			minPollInterval:  defaultMinPollInterval,
			grace:            defaultCreationGracePeriod,
			volatileInterval: defaultVolatileInterval,
			spread:           true,
		},
		objectConfig: objectConfig{
			ignoredFinalizers: map[string]bool{"foregroundDeletion": true, "orphan": true, UnclaimedFinalizer: true},
		},
		reportingConfig: reportingConfig{log: logging.NewNopLogger(), recorder: event.NewNopRecorder()},
		processConfig:   processConfig{cluster: c, clock: clock.RealClock{}, random: rand.Float64},
	}
}
