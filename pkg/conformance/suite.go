package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A Suite describes the client of a provider for one kind. Kind, Scheme, Samples, Probe and a connecter are required.
type Suite struct {
	// Kind is the kind of the samples, which must be registered in Scheme. If the kind publishes connection details,
	// corev1.Secret must also be registered in Scheme.
	Kind   resource.ManagedKind
	Scheme *runtime.Scheme

	// Connecter connects to the external system, which may be a real one or a fake.
	Connecter managed.ExternalConnecter

	// NewConnecter returns a connecter for one process of the provider. NewConnecter replaces the field Connecter. The
	// suite calls NewConnecter for each simulated process, so a client loses its memory when a process ends. Prefer
	// NewConnecter to Connecter.
	NewConnecter func() managed.ExternalConnecter

	// NewConnecterWithReader is like NewConnecter, for a client that reads Secrets, such as its own connection Secret, and
	// replaces NewConnecter. In a schedule the reader reads from the API server of the schedule, without faults, as
	// GetAPIReader of a manager does. The suite also calls the client directly, without a reconciler. Then the reader
	// reads the Secrets to which the suite has published what Observe returned. corev1.Secret must be registered in
	// Scheme. Typed and unstructured reads work, outside of calls of the client, too.
	NewConnecterWithReader func(secrets ctrlclient.Reader) managed.ExternalConnecter

	// Class is the way in which a Create is repeated safely after its response was lost. If the client is a
	// managed.CreationRecoverer, the default is Findable. Otherwise it is Opaque. The suite adds the reconciler options
	// that a class needs.
	Class Class

	// Options are the options of the reconciler, as the provider sets them, without the connecter.
	Options []managed.ReconcilerOption

	// Samples are objects as users apply them. At least one is required, and their names must differ. More checks run if
	// two samples can exist at the same time and their names have a common prefix.
	Samples []resource.Managed

	// Mutations are changes of the spec of a sample. Each mutation is applied to each sample. Without mutations, updates
	// are not checked.
	Mutations []Mutation

	// Probe reads the external system without the client. If the Probe also implements optional interfaces of this
	// package, such as Drifter and Breaker, more checks run.
	Probe Probe

	// Secrets are texts that must not occur in a status, event, log, error or connection detail, such as the password of
	// Connecter. Credentials of a resource belong in ResourceSecrets.
	Secrets []string

	// ResourceSecrets are texts that must not occur in a status, event, log or error, but belong in connection details,
	// such as a password that the external system gives each resource. The default is none.
	ResourceSecrets []string

	// Delay is the time after which the external system shows a change. The suite waits for this time after each change,
	// before virtual time continues. The default is 0.
	Delay time.Duration

	// Patience is the maximum real time in which the external system makes a resource ready or deletes it. The default is
	// half a second. The suite waits only while the state is not as expected. After a call that has failed, the suite
	// waits for a change that usually does not come: then it waits eight times as long as the slowest change of its
	// direct calls so far, but at least half a second, and at most Patience. The time of the call counts, for instance of
	// a Create that submits a job and waits for its end. If that is longer than Patience, the suite waits at least twice
	// as long as the slowest change took.
	Patience time.Duration

	// CallTimeout is the deadline of each call of the client and of the probe. The suite stops if a call takes twice as
	// long. The default is five seconds.
	CallTimeout time.Duration

	// Within is the time during which the suite starts schedules with faults. It begins with the first schedule that
	// injects a fault. The suite skips the remaining schedules, and reports their number. Those that run are spread over
	// all scenarios. Interruptions between two requests of a call have this time once more. The default is half a
	// minute.
	//
	// Within does not limit the rest of the suite. Checks without a reconciler are limited by the number of samples,
	// mutations and requests of a call. Schedules without faults are limited by the numbers of scenarios and samples. In
	// both, CallTimeout limits each call, and Patience limits each wait. The log says how long each part took.
	Within time.Duration

	// Server returns a client of a new, empty API server for each schedule. The default is a simulated API server. If the
	// provider's objects are in stores, set Server, for instance to a server of package store/kube. The function must not
	// block. If the function returns an error, the suite fails.
	Server func() (ctrlclient.Client, error)

	// Replay is a schedule from the output of a failed run. If Replay is set, the suite runs only this schedule, and logs
	// the trace of the schedule.
	Replay string
}

// A Class says why a Create may be repeated safely after its response was lost.
type Class string

// Classes of external systems.
const (
	Named    Class = "named"    // the provider chooses the name, and the external system refuses a name that exists
	Token    Class = "token"    // a Create with the same managed.CreationToken returns the same resource
	Findable Class = "findable" // the client is a managed.CreationRecoverer
	Opaque   Class = "opaque"   // Create is not repeated, and a user has to resolve it
)

// A Mutation is a change of the spec of a sample.
type Mutation struct {
	// Name of the mutation, without spaces.
	Name string

	// Change gets a copy of a sample, and changes the spec of this copy. It must make the same change in each call.
	Change func(mg resource.Managed)

	// Want contains the changed fields of Resource.State, with the values that the Probe returns after the change.
	Want map[string]string

	// Immutable means that the external system cannot make the change of this mutation. The client then has to refuse the
	// change without a request, and the field Want is ignored.
	Immutable bool
}

// A Probe reads the external system. Its methods must return when their context ends.
type Probe interface {
	// List returns all existing resources that the samples may affect. Resources that existed before the suite started do
	// not belong to the suite, and must not change.
	List(ctx context.Context) ([]Resource, error)

	// Remove deletes a resource without the client. The suite calls it to clean up, and to simulate a deletion by others.
	// If the resource does not exist, Remove returns nil.
	Remove(ctx context.Context, id string) error
}

// A Resource is a resource of the external system.
type Resource struct {
	// ID is the external name of the resource in its object.
	ID string

	// State contains the fields that mutations change, and all other fields that must not change without a mutation. Leave
	// out fields that change by themselves, such as counters and timestamps.
	State map[string]string

	// Deleting is true while the resource is being deleted.
	Deleting bool
}

// UnownedMaker is an optional interface of a Probe that can create resources without an owner.
type UnownedMaker interface {
	// Make creates the resource that mg specifies and returns its ID. Make must not use the client under test, and must
	// not write ownership metadata. For the class Named, mg has an external name.
	Make(ctx context.Context, mg resource.Managed) (id string, err error)
}

// A Drifter is a Probe that can change a resource.
type Drifter interface {
	// Drift changes a field of a resource, so that it differs from the spec of its
	// object.
	Drift(ctx context.Context, id string) error
}

// A Breaker is a Probe that can make the external system unavailable.
type Breaker interface {
	// Break makes calls of clients fail, or hang until their context ends. The effect ends when the returned function mend
	// is called. Calls of the Probe still work.
	Break(ctx context.Context) (mend func(context.Context) error, err error)
}

// A Silencer is a Probe that can withhold responses of the external system.
type Silencer interface {
	// Silence lets the external system process requests of clients without a response, until the returned function end is
	// called. The calls of clients hang until their context ends, or fail like calls over a broken connection. Calls of
	// the Probe still work.
	Silence(ctx context.Context) (end func(context.Context) error, err error)
}

// A Misrouter is a Probe that can let another server respond instead of the external system, such as a proxy without
// backends.
type Misrouter interface {
	// Misroute responds to all requests of clients with an error page that is not about a resource, until the returned
	// function end is called. The requests have no effect. The response has the HTTP status in the argument status: 403,
	// 404, 413, 422 or 502. Calls of the Probe still work.
	Misroute(ctx context.Context, status int) (end func(context.Context) error, err error)
}

// A Hider is a Probe that can hide an existing resource from reads, as a stale replica does.
type Hider interface {
	// Hide lets clients that read a resource get the response that the resource does not exist. The effect ends when the
	// returned function end is called. Changes of the resource still work, and List of the Probe still returns the
	// resource.
	Hide(ctx context.Context, id string) (end func(context.Context) error, err error)
}

// A Holder is a Probe that can block requests about one resource.
type Holder interface {
	// Hold blocks requests of clients about a resource until their context ends, or until the returned function end is
	// called. Hold closes the returned channel held when the first request is blocked. Requests about other resources are
	// not blocked.
	Hold(ctx context.Context, id string) (held <-chan struct{}, end func(context.Context) error, err error)
}

// An Interrupter is a Probe that can interrupt a call of the client between its requests. A Probe that embeds the
// result of FaultProxy is an Interrupter. The suite then injects a fault at each request of a Create, Update or Delete.
// The faults: the process ends, the answer is lost, or no answer comes before the deadline of the call.
type Interrupter interface {
	// Exchanges returns the number of requests of clients that the external system has answered so far.
	Exchanges() int

	// Interrupt lets clients lose their connection in the middle of the exchanges that follow, until the returned function
	// end is called. Calls of the Probe still work.
	Interrupt(ctx context.Context, i Interruption) (end func(context.Context) error, err error)
}

// An Interruption says where the connection of clients is interrupted.
type Interruption struct {
	// Exchange is the number of the exchange after which nothing passes any more. It counts from 1, beginning with the
	// first exchange after the call of Interrupt.
	Exchange int

	// Answered says whether the client gets the answer of that exchange. If it does, the next request is lost before the
	// external system gets it. If it does not, the external system has processed the request.
	Answered bool

	// Hang keeps connections open without passing data. By default connections are reset.
	Hang bool
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

// problems returns the reasons why the suite cannot be run, one sentence each.
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
	say(s.Connecter == nil && s.NewConnecter == nil && s.NewConnecterWithReader == nil,
		"Suite.Connecter, Suite.NewConnecter and Suite.NewConnecterWithReader are nil: give one of them")
	say(s.Scheme != nil && s.needsSecrets() && !s.Scheme.Recognizes(corev1.SchemeGroupVersion.WithKind("Secret")),
		"Suite.Scheme does not know Secrets, which Suite.NewConnecterWithReader and an Authenticator need: call "+
			"corev1.AddToScheme with it")
	say(s.Probe == nil, "Suite.Probe is nil: without it the suite does not know what exists")
	say(len(s.Samples) == 0, "Suite.Samples is empty: give at least one object")
	say(s.Class != "" &&
		!slices.Contains([]Class{Named, Token, Findable, Opaque}, s.Class), "Suite.Class is %q, which is no class",
		s.Class)
	say(slices.Contains(s.allSecrets(), ""),
		"Suite.Secrets or Suite.ResourceSecrets has an empty text, which is everywhere")
	for _, secret := range s.ResourceSecrets {
		say(slices.Contains(s.Secrets, secret), "Suite.Secrets and Suite.ResourceSecrets have a text in common: "+
			"credentials of the provider are in the former, and those of a resource in the latter")
	}
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

// needsSecrets reports whether the suite cannot be run without Secrets.
func (s *Suite) needsSecrets() bool {
	_, logsIn := s.Probe.(Authenticator)

	return logsIn || s.NewConnecterWithReader != nil
}

// allSecrets returns the secrets of the provider and of the resources.
func (s *Suite) allSecrets() []string { return slices.Concat(s.Secrets, s.ResourceSecrets) }

// sampleProblem returns the reasons why a sample cannot be used.
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
