package managed

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// invalidOptions has a row for each contradiction of two options and for each value that is not defined, with what
// the error says of it: the options, and what to do.
func invalidOptions() map[string]struct {
	options []ReconcilerOption
	want    []string
} {
	type row = struct {
		options []ReconcilerOption
		want    []string
	}
	one := func(o ReconcilerOption, want ...string) row { return row{[]ReconcilerOption{o}, want} }

	return map[string]row{
		"a name and a token": {[]ReconcilerOption{WithCreationTokens(), WithDeterministicExternalName(true)},
			[]string{"WithDeterministicExternalName contradicts WithCreationTokens", "keep the former if"}},
		"an unknown adoption policy": one(WithAdoptionPolicy("nevr"), `WithAdoptionPolicy has the unknown policy "nevr"`,
			"give one of force, if-matching, if-unowned, never"),
		"an adoption policy in another case": one(WithAdoptionPolicy("Never"), `unknown policy "Never"`),
		"an unknown allowed policy": one(WithAllowedAdoptionPolicies(meta.AdoptionPolicyNever, "all"),
			`WithAllowedAdoptionPolicies has the unknown policy "all"`, "give one of"),
		"an empty allowed policy": one(WithAllowedAdoptionPolicies(""), `unknown policy ""`),
		"an unknown action": one(WithSupportedManagementPolicies(commonv1.ManagementPolicies{"Observe", "Delet"}),
			"WithSupportedManagementPolicies has a set that no object can have", `"Delet"`, "allowed are"),
		"policies without a look": one(WithSupportedManagementPolicies(commonv1.ManagementPolicies{"Create"}),
			"WithSupportedManagementPolicies", "add Observe"),
		"no domain":              one(WithPredecessor(""), "WithPredecessor has \"\"", `give one such as "crossplane.io"`),
		"a key as domain":        one(WithPredecessor("crossplane.io/"), "no domain of annotations"),
		"the domain of names":    one(WithPredecessor("krateo.io"), "the domain krateo.io", "remove the option"),
		"the domain of attempts": one(WithPredecessor("moorage.dev"), "the domain moorage.dev", "remove the option"),
		"the own finalizer is retired": one(WithRetiredFinalizers("a.io/f", FinalizerName), "WithRetiredFinalizers has "+
			FinalizerName, "remove it there, or give another finalizer by WithFinalizer"),
		"the own record is retired": one(WithRetiredAnnotations("a.io/name", meta.AnnotationKeyCreateAttempt),
			"WithRetiredAnnotations has "+meta.AnnotationKeyCreateAttempt, "remove it there"),
		"no path":                      one(WithVolatileStatus(""), `WithVolatileStatus has ""`, "give one such as"),
		"the path of the whole status": one(WithVolatileStatus("status."), `WithVolatileStatus has ""`),
		"a path with a gap":            one(WithVolatileStatus("used", "a..b"), `WithVolatileStatus has "a..b"`),
		"a Secret that needs keys": one(WithConnectionSecretType(corev1.SecretTypeTLS),
			"WithConnectionSecretType has kubernetes.io/tls", "give a type without required keys"),

		"no connecter":    one(WithExternalConnecter(nil), "WithExternalConnecter was given nil", "remove the option"),
		"no disconnecter": one(WithExternalConnectDisconnecter(nil), "WithExternalConnectDisconnecter was given nil"),
		"no initializer":  one(WithInitializers(nil), "WithInitializers was given nil"),
		"no watch":        one(WithWatch(nil, nil), "WithWatch was given nil"),
		"no cluster":      one(WithCluster(nil), "WithCluster was given nil"),
		"no logger":       one(WithLogger(nil), "WithLogger was given nil"),
		"no recorder":     one(WithRecorder(nil), "WithRecorder was given nil"),
		"no clock":        one(WithClock(nil), "WithClock was given nil"),
		"no random":       one(WithRandom(nil), "WithRandom was given nil"),
	}
}

func TestInvalidOptions(t *testing.T) {
	for name, tc := range invalidOptions() {
		err := checkOptions(&fake.Manager{}, tc.options)
		if err == nil {
			t.Errorf("%s: no error", name)

			continue
		}
		for _, want := range tc.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: the error %q does not say %q", name, err, want)
			}
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: more than one error: %v", name, err)
		}
	}
}

// TestInvalidOptionsAreJoined: the error has each contradiction and each unknown value, not the first alone.
func TestInvalidOptionsAreJoined(t *testing.T) {
	err := checkOptions(&fake.Manager{}, []ReconcilerOption{
		WithDeterministicExternalName(true), WithCreationTokens(), WithAdoptionPolicy("a"),
		WithAllowedAdoptionPolicies("b", "c"), WithPredecessor("")})
	if err == nil || strings.Count(err.Error(), "\n") != 4 {
		t.Errorf("not five errors: %v", err)
	}
}

// TestValidOptions: what is documented, and what the signatures of provider-runtime allow, is no error.
func TestValidOptions(t *testing.T) {
	hook := func(_ resource.Managed, d time.Duration) time.Duration { return d }
	for name, options := range map[string][]ReconcilerOption{
		"none": nil,
		"the last hook wins": {WithPollIntervalHook(hook), WithPollJitterHook(time.Second),
			WithAdaptivePoll(time.Hour)},
		"a nil hook":              {WithPollIntervalHook(nil)},
		"a lease without a fence": {WithLeaseDeadline(func() time.Time { return time.Time{} })},
		"durations that make no sense": {WithTimeout(-1), WithPollInterval(-1), WithMinPollInterval(-1),
			WithCreationGracePeriod(-1)},
		"never volatile":              {WithVolatileStatusInterval(-1)},
		"a list for half an interval": {WithBulkObservation(-1)},
		"a list for longer":           {WithBulkObservation(time.Hour), WithPollInterval(time.Minute)},
		"names as the system says":    {WithCreationTokens(), WithDeterministicExternalName(false)},
		"the last policy wins":        {WithAdoptionPolicy("nevr"), WithAdoptionPolicy(meta.AdoptionPolicyNever)},
		"the default policy":          {WithAdoptionPolicy("")},
		"each policy": {WithAllowedAdoptionPolicies(meta.AdoptionPolicyNever, meta.AdoptionPolicyIfUnowned,
			meta.AdoptionPolicyIfMatching, meta.AdoptionPolicyForce), WithAdoptionPolicy(meta.AdoptionPolicyForce)},
		"no policy is allowed": {WithAllowedAdoptionPolicies()},
		"what pauses": {WithSupportedManagementPolicies(commonv1.ManagementPolicies{},
			commonv1.ManagementPolicies{"*"})},
		"strict, and not": {WithStrictCreateErrors(), WithCreateErrorsAsFailures(),
			WithDeterministicExternalName(true)},
		"another finalizer": {WithFinalizer(resource.FinalizerFns{}), WithRetiredFinalizers(FinalizerName)},
		"a predecessor":     {WithPredecessor("crossplane.io"), WithRetiredAnnotations("crossplane.io/external-name")},
		"a publisher":       {WithConnectionPublisher(nil), WithConnectionSecretType("connection.crossplane.io/v1alpha1")},
	} {
		if err := checkOptions(&fake.Manager{}, options); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestInvalidOptionsEndEachReconcile: a Reconciler that was not made by Setup says so, tries nothing, and is not asked
// again for the same.
func TestInvalidOptionsEndEachReconcile(t *testing.T) {
	connects := 0
	r := madeWith(WithAdoptionPolicy("nevr"), WithExternalConnecter(ExternalConnectorFn(
		func(context.Context, resource.Managed) (ExternalClient, error) {
			connects++

			return &NopClient{}, nil
		})))
	for range 2 {
		result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "data"}})
		if !errors.Is(err, reconcile.TerminalError(nil)) || !strings.Contains(err.Error(), "WithAdoptionPolicy") ||
			result != (reconcile.Result{}) {
			t.Errorf("answered %+v, %v", result, err)
		}
	}
	if connects > 0 {
		t.Errorf("%d connects", connects)
	}
}

// TestSetupRefusesInvalidOptions: served or not, before anything is added to the manager.
func TestSetupRefusesInvalidOptions(t *testing.T) {
	of := resource.ManagedKind(fake.GVK(&fake.Managed{}))
	m := &fake.Manager{Scheme: runtime.NewScheme()}
	m.Scheme.AddKnownTypeWithName(fake.GVK(&fake.Managed{}), &fake.Managed{})
	for name, err := range map[string]error{
		"served": Setup(m, of, controller.Options{}, WithAdoptionPolicy("nevr")),
		"gated":  SetupGated(m, nil, of, controller.Options{}, WithAdoptionPolicy("nevr")),
	} {
		const want = "cannot set up a controller for Managed with its options: WithAdoptionPolicy has the unknown policy"
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
