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

// A Suite describes a provider for one kind. Kind, Scheme, a connecter, Samples and a
// Probe are required.
type Suite struct {
	// Kind of the samples, which Scheme knows. A scheme of a kind that publishes
	// connection details knows corev1.Secret, too.
	Kind   resource.ManagedKind
	Scheme *runtime.Scheme

	// Connecter connects to the external system, which may be a real one or a fake.
	Connecter managed.ExternalConnecter

	// NewConnecter, if it is not nil, is called for each process of the provider
	// instead of using Connecter for all: what a client keeps in memory is lost
	// when a process dies. Prefer it.
	NewConnecter func() managed.ExternalConnecter

	// Class says how a Create is repeated safely when its response was lost. The
	// default is Findable if the client is a managed.CreationRecoverer, and
	// otherwise Opaque. The options that a class needs are added.
	Class Class

	// Options of the reconciler, as the provider has them, but for the connecter.
	Options []managed.ReconcilerOption

	// Samples are objects as users apply them, with different names, at least one.
	// Two samples that can exist at the same time, and whose names have a common
	// prefix, enable more checks.
	Samples []resource.Managed

	// Mutations are changes of the spec of each sample. Without any, updates are not
	// checked.
	Mutations []Mutation

	// Probe reads the external system by another way than the client. It may also
	// implement the optional interfaces of this package, such as Drifter and Breaker, each
	// of which enables more checks.
	Probe Probe

	// Secrets are texts that must not appear in a status, event, log or error, such as
	// the password of Connecter.
	Secrets []string

	// Delay is how long the external system may take to show a change. The suite waits
	// that long after each change before virtual time goes on. The default is 0.
	Delay time.Duration

	// Patience is how long, in real time, the external system may take to make a
	// resource ready, or to delete it. The default is half a second; the suite waits
	// that long only if the state is not as expected.
	Patience time.Duration

	// CallTimeout is the deadline of each call to the client and to the probe. A call
	// that takes twice as long stops the suite. The default is five seconds.
	CallTimeout time.Duration

	// Within is the time in which schedules with faults are started. The remaining
	// ones are skipped and counted. The default is half a minute.
	Within time.Duration

	// Server, if it is not nil, returns a client of a server of its own for each
	// schedule, such as one of package store/kube for a provider whose objects are in
	// stores. The server has to be empty, and must not block. The default is a simulated
	// API server. An error fails the suite.
	Server func() (ctrlclient.Client, error)

	// Replay is a schedule that a failure printed. If it is not empty, this one
	// alone is run, and its trace is logged.
	Replay string
}

// A Class says how a Create is repeated safely when its response was lost.
type Class string

// Classes of external systems.
const (
	Named    Class = "named"    // the provider chooses the name, and the system refuses a taken one
	Token    Class = "token"    // the same managed.CreationToken leads to the same resource
	Findable Class = "findable" // the client is a managed.CreationRecoverer
	Opaque   Class = "opaque"   // it is not repeated: a person has to resolve it
)

// A Mutation is a change of a spec.
type Mutation struct {
	// Name without spaces.
	Name string

	// Change is called with a copy of a sample. It must do the same each time.
	Change func(mg resource.Managed)

	// Want holds the changed fields of the resource's State, as the Probe shows them
	// afterwards.
	Want map[string]string

	// Immutable says that the external system cannot make this change, so that the
	// client has to refuse it without a request. Want is not used then.
	Immutable bool
}

// A Probe reads the external system. Its calls have to return when their context ends.
type Probe interface {
	// List returns all existing resources that the samples may affect. A resource that
	// exists before the suite starts is foreign and must not change.
	List(ctx context.Context) ([]Resource, error)

	// Remove deletes a resource without the client, to clean up and to simulate a
	// deletion by others. It returns no error if the resource does not exist.
	Remove(ctx context.Context, id string) error
}

// A Resource is a resource of the external system.
type Resource struct {
	// ID is the external name by which an object refers to it.
	ID string

	// State holds the fields that do not change by themselves: those that mutations
	// change, and all that must not change without a mutation. Leave out counters and
	// timestamps.
	State map[string]string

	// Deleting says that the resource is being deleted.
	Deleting bool
}

// UnownedMaker is an optional interface of a Probe that can create resources without an owner.
type UnownedMaker interface {
	// Make creates the resource that mg specifies, without ownership metadata and without the
	// client under test, and returns its ID. In the class Named mg has an external name.
	Make(ctx context.Context, mg resource.Managed) (id string, err error)
}

// A Drifter is a Probe that can change a resource.
type Drifter interface {
	// Drift changes a field of a resource, so that it differs from the spec of its
	// object.
	Drift(ctx context.Context, id string) error
}

// A Breaker is a Probe that can break the external system.
type Breaker interface {
	// Break makes calls of clients fail, or hang until their context ends, until
	// mend is called. Calls of the Probe still work.
	Break(ctx context.Context) (mend func(context.Context) error, err error)
}

// A Silencer is a Probe that can withhold responses of the external system.
type Silencer interface {
	// Silence lets the external system process requests of clients without a response,
	// until end is called: their calls hang until their context ends, or fail as if the
	// connection broke. Calls of the Probe still work.
	Silence(ctx context.Context) (end func(context.Context) error, err error)
}

// A Misrouter is a Probe that can let something else answer in place of the external
// system, such as a proxy without backends.
type Misrouter interface {
	// Misroute answers all requests of clients with an error page of an HTTP status (403,
	// 404, 413, 422 or 502) that is not about a resource, and without an effect, until
	// end is called. Calls of the Probe still work.
	Misroute(ctx context.Context, status int) (end func(context.Context) error, err error)
}

// A Hider is a Probe that can let reads miss an existing resource, as a stale replica
// does.
type Hider interface {
	// Hide lets reads of a resource by clients report that it does not exist, until end
	// is called. Changes of the resource still work, and List of the Probe shows it.
	Hide(ctx context.Context, id string) (end func(context.Context) error, err error)
}

// A Holder is a Probe that can block requests about one resource.
type Holder interface {
	// Hold blocks requests of clients about a resource until their context ends, or end
	// is called. It closes held once a request is blocked. Other requests are answered.
	Hold(ctx context.Context, id string) (held <-chan struct{}, end func(context.Context) error, err error)
}

// withDefaults returns a copy of the suite with the defaults set.
func (s *Suite) withDefaults() Suite {
	out := *s
	for d, fallback := range map[*time.Duration]time.Duration{
		&out.Patience: 500 * time.Millisecond, &out.CallTimeout: 5 * time.Second, &out.Within: 30 * time.Second,
	} {
		if *d <= 0 {
			*d = fallback
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
	say(s.Scheme != nil &&
		!s.Scheme.Recognizes(gvk), "Suite.Scheme does not know the kind %s: call your AddToScheme with it", gvk)
	say(s.Connecter == nil && s.NewConnecter == nil, "Suite.Connecter and Suite.NewConnecter are nil: give one of them")
	say(s.Probe == nil, "Suite.Probe is nil: without it the suite does not know what exists")
	say(len(s.Samples) == 0, "Suite.Samples is empty: give at least one object")
	say(s.Class != "" &&
		!slices.Contains([]Class{Named, Token, Findable, Opaque}, s.Class), "Suite.Class is %q, which is no class",
		s.Class)
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
		say(m.Name == "" ||
			strings.ContainsAny(m.Name, " /\t\n"), "Suite.Mutations[%d] has the name %q: give a word", i, m.Name)
		say(names[m.Name], "Suite.Mutations[%d] has the name %q of another", i, m.Name)
		say(m.Change == nil, "Suite.Mutations[%d].Change is nil", i)
		say(len(m.Want) == 0 &&
			!m.Immutable, "Suite.Mutations[%d].Want is empty: say what the Probe shows after the change", i)
		names[m.Name] = true
	}

	return out
}

// sampleProblem returns why a sample cannot be used.
func (s *Suite) sampleProblem(i int, mg resource.Managed) []string {
	gvks, _, err := s.Scheme.ObjectKinds(mg)
	switch {
	case err != nil:
		return []string{fmt.Sprintf("Suite.Samples[%d] is a %T, which Suite.Scheme does not know", i, mg)}
	case !slices.Contains(gvks, schema.GroupVersionKind(s.Kind)):
		return []string{
			fmt.Sprintf("Suite.Samples[%d] is a %s and not a %s, which Suite.Kind is", i, gvks[0].Kind, s.Kind.Kind),
		}
	case !specOf(mg).IsValid():
		return []string{fmt.Sprintf("Suite.Samples[%d] is a %T, which has no field Spec", i, mg)}
	default:
		return nil
	}
}
