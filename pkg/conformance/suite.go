package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A Suite is what an author says of his provider for one kind. Kind, Scheme, a
// connecter, Samples and a Probe are required.
type Suite struct {
	// Kind of the samples, which Scheme knows. A scheme of a kind that publishes
	// connection details knows corev1.Secret, too.
	Kind   resource.ManagedKind
	Scheme *runtime.Scheme

	// Connecter leads to the external system, which may be a real one or a fake.
	Connecter managed.ExternalConnecter

	// NewConnecter, if it is not nil, is called for each process of the provider
	// instead of using Connecter for all: what a client keeps in memory is lost
	// when a process dies. Prefer it.
	NewConnecter func() managed.ExternalConnecter

	// Class is what makes it safe to create again when the answer was lost. The
	// default is Findable if the client is a managed.CreationRecoverer, and
	// otherwise Opaque. The options that a class needs are added.
	Class Class

	// Options of the reconciler, as the provider has them, but for the connecter.
	Options []managed.ReconcilerOption

	// Samples are objects as users apply them, of different names, at least one.
	// Two whose names begin alike, and that can exist side by side, let more be
	// checked.
	Samples []resource.Managed

	// Mutations are changes of the spec, to each sample. Without any, nothing
	// about updates is checked.
	Mutations []Mutation

	// Probe looks into the external system by another way than the client. It may
	// also be a Stranger, a Drifter, a Breaker, a Silencer, a Misrouter, a Hider and a
	// Holder, which lets more be checked.
	Probe Probe

	// Secrets are texts of which nobody may see any, such as the password that
	// Connecter was given.
	Secrets []string

	// Delay is how long the external system may take to show what was done to it.
	// It is waited for after each change before virtual time goes on. The
	// default is that it shows it at once.
	Delay time.Duration

	// Patience is for how long, in real time, the external system may take to do
	// what it was told: to make a resource ready, or to delete it. The default is
	// half a second; it is spent only on what is not as it should be.
	Patience time.Duration

	// CallTimeout is the deadline of each call to the client and to the probe. What
	// takes twice as long is given up, and the suite with it. The default is five
	// seconds.
	CallTimeout time.Duration

	// Within is for how long schedules with faults are begun. Those for which there
	// is no time are left out, and counted. The default is half a minute.
	Within time.Duration

	// Server, if it is not nil, returns a client of a server of its own for each
	// schedule, such as one of package store/kube for a provider whose objects are in
	// stores. It has to be empty, and to wait for nothing. The default is a simulated
	// API server. If it fails, the suite cannot be run, and says why.
	Server func() (ctrlclient.Client, error)

	// Replay is a schedule that a failure printed. If it is not empty, this one
	// alone is run, and its trace is logged.
	Replay string
}

// A Class says what makes it safe to create again when the answer to a create was
// lost.
type Class string

// Classes of external systems.
const (
	Named    Class = "named"    // the name is chosen here, and a taken one is refused
	Token    Class = "token"    // the same managed.CreationToken leads to the same resource
	Findable Class = "findable" // the client is a managed.CreationRecoverer
	Opaque   Class = "opaque"   // nothing does
)

// A Mutation is a change of a spec.
type Mutation struct {
	// Name without spaces.
	Name string

	// Change is called with a copy of a sample. It must do the same each time.
	Change func(mg resource.Managed)

	// Want is what the Probe shows in the resource's State afterwards, of those
	// fields that change.
	Want map[string]string

	// Immutable says that the external system cannot change this, so that the
	// client has to refuse it without asking. Want is not used then.
	Immutable bool
}

// A Probe looks into the external system. Its calls have to end with their
// context.
type Probe interface {
	// List returns all that exists and that the samples may have to do with. What
	// is listed before the suite begins is somebody else's and must stay as it is.
	List(ctx context.Context) ([]Resource, error)

	// Remove deletes a resource, to clean up, and behind the provider's back. One
	// that does not exist is no error.
	Remove(ctx context.Context, id string) error
}

// A Resource is one that exists in the external system.
type Resource struct {
	// ID is the external name by which an object refers to it.
	ID string

	// State holds what does not change by itself, in words: what mutations
	// change, and whatever else nobody may change without being told to. Leave
	// out counters and times.
	State map[string]string

	// Deleting says that it is on its way out.
	Deleting bool
}

// A Stranger is a Probe that can make what belongs to nobody.
type Stranger interface {
	// Make makes a resource such as mg asks for, without a mark of ownership and
	// not through the client under test, and returns its id. Mg has an external
	// name if names are chosen here.
	Make(ctx context.Context, mg resource.Managed) (id string, err error)
}

// A Drifter is a Probe that can change a resource.
type Drifter interface {
	// Drift changes something of a resource that an object asks for to be
	// otherwise.
	Drift(ctx context.Context, id string) error
}

// A Breaker is a Probe that can break the external system.
type Breaker interface {
	// Break makes calls of clients fail, or hang until their context ends, until
	// mend is called. Those of the Probe go on to work.
	Break(ctx context.Context) (mend func(context.Context) error, err error)
}

// A Silencer is a Probe that can keep back what the external system answers.
type Silencer interface {
	// Silence lets the external system do what clients ask for, and keeps its answers
	// from them, until end is called: their calls hang until their context ends, or
	// fail as if the connection broke. Those of the Probe go on to work.
	Silence(ctx context.Context) (end func(context.Context) error, err error)
}

// A Misrouter is a Probe that can have something else answer in the place of the external
// system, as a proxy does whose backends are away.
type Misrouter interface {
	// Misroute answers all requests of clients with a page of an HTTP status (403, 404,
	// 413, 422 or 502), which is about no resource, and without an effect, until end is
	// called. Those of the Probe go on to work.
	Misroute(ctx context.Context, status int) (end func(context.Context) error, err error)
}

// A Hider is a Probe that can let reads miss what exists, as a replica does that lags.
type Hider interface {
	// Hide lets the external system say to clients that read a resource that it does not
	// exist, until end is called. What is done to it has its effect, and List of the
	// Probe goes on to show it.
	Hide(ctx context.Context, id string) (end func(context.Context) error, err error)
}

// A Holder is a Probe that can let requests about one resource wait.
type Holder interface {
	// Hold lets requests of clients about a resource wait until their context ends, or
	// end is called. Held is closed once one waits. Other requests are answered.
	Hold(ctx context.Context, id string) (held <-chan struct{}, end func(context.Context) error, err error)
}

func (s *Suite) withDefaults() Suite {
	out := *s
	for d, otherwise := range map[*time.Duration]time.Duration{
		&out.Patience: 500 * time.Millisecond, &out.CallTimeout: 5 * time.Second, &out.Within: 30 * time.Second,
	} {
		if *d <= 0 {
			*d = otherwise
		}
	}
	if out.NewConnecter == nil {
		out.NewConnecter = func() managed.ExternalConnecter { return s.Connecter }
	}

	return out
}

// problems returns why the suite cannot be run, one sentence each.
func (s *Suite) problems() []string {
	var out []string
	say := func(is bool, format string, args ...any) {
		if is {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	gvk := schema.GroupVersionKind(s.Kind)
	say(s.Scheme == nil, "Suite.Scheme is nil: give the scheme that knows the kind")
	say(s.Scheme != nil && !s.Scheme.Recognizes(gvk), "Suite.Scheme does not know the kind %s: call your AddToScheme with it", gvk)
	say(s.Connecter == nil && s.NewConnecter == nil, "Suite.Connecter and Suite.NewConnecter are nil: give one of them")
	say(s.Probe == nil, "Suite.Probe is nil: without it nobody knows what exists")
	say(len(s.Samples) == 0, "Suite.Samples is empty: give at least one object")
	say(s.Class != "" && !slices.Contains([]Class{Named, Token, Findable, Opaque}, s.Class), "Suite.Class is %q, which is no class", s.Class)
	say(slices.Contains(s.Secrets, ""), "Suite.Secrets has an empty text, which is everywhere")
	names := map[string]bool{}
	for i, mg := range s.Samples {
		if isNil(mg) {
			say(true, "Suite.Samples[%d] is nil", i)

			continue
		}
		say(mg.GetName() == "", "Suite.Samples[%d] has no name", i)
		say(names[mg.GetName()], "Suite.Samples[%d] has the name %q of another", i, mg.GetName())
		names[mg.GetName()] = true
		if s.Scheme != nil {
			out = append(out, s.sampleProblem(i, mg)...)
		}
	}
	names = map[string]bool{}
	for i, m := range s.Mutations {
		say(m.Name == "" || strings.ContainsAny(m.Name, " /\t\n"), "Suite.Mutations[%d] has the name %q: give a word", i, m.Name)
		say(names[m.Name], "Suite.Mutations[%d] has the name %q of another", i, m.Name)
		say(m.Change == nil, "Suite.Mutations[%d].Change is nil", i)
		say(len(m.Want) == 0 && !m.Immutable, "Suite.Mutations[%d].Want is empty: say what the Probe shows after the change", i)
		names[m.Name] = true
	}

	return out
}

func (s *Suite) sampleProblem(i int, mg resource.Managed) []string {
	gvks, _, err := s.Scheme.ObjectKinds(mg)
	switch {
	case err != nil:
		return []string{fmt.Sprintf("Suite.Samples[%d] is a %T, which Suite.Scheme does not know", i, mg)}
	case !slices.Contains(gvks, schema.GroupVersionKind(s.Kind)):
		return []string{fmt.Sprintf("Suite.Samples[%d] is a %s and not a %s, which Suite.Kind is", i, gvks[0].Kind, s.Kind.Kind)}
	case !specOf(mg).IsValid():
		return []string{fmt.Sprintf("Suite.Samples[%d] is a %T, which has no field Spec", i, mg)}
	default:
		return nil
	}
}
