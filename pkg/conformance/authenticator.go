package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// An Authenticator is a Probe that can log in to a resource with connection details. The suite then checks, in each
// schedule, that the connection Secret of an object works whenever the object is Ready and nothing is left to do: after
// the creation, after an update, after a restart, and after each fault. Samples have to name a connection Secret, and
// Options must not have managed.WithConnectionPublisher.
type Authenticator interface {
	// Authenticate logs in with the data of a connection Secret, as an application does. It returns an error if the
	// details are incomplete, or are rejected. It changes nothing, and does not use the client under test. Time-outs are
	// no findings.
	Authenticate(ctx context.Context, details map[string][]byte) error
}

// A login identifies the state in which an application could log in.
type login struct {
	secret  string    // resourceVersion
	changed time.Time // when the external system was changed last
}

// loginProblem returns why an application cannot log in with the connection Secret of an object that is Ready, or "".
func (t *scenarioRun) loginProblem(mg resource.Managed) string {
	a, ok := t.suite.Probe.(Authenticator)
	if !ok || secretOf(mg) == "" || meta.WasDeleted(mg) || t.host.stopped() ||
		mg.GetCondition(commonv1.TypeReady).Status != metav1.ConditionTrue {
		return ""
	}
	if mg.GetAnnotations()[meta.AnnotationKeyCreationDetails] != "" {
		return "" // only the response to Create had the details: the object says that they are lost
	}
	secret, err := t.readSecret(mg)
	switch {
	case err != nil:
		return err.Error()
	case t.isDeletedSecret(mg, secret), t.name == "adopt" && t.lacksKeys(secret):
		return ""
	case secret == nil:
		return fmt.Sprintf("its connection Secret %s does not exist", secretOf(mg))
	case !metav1.IsControlledBy(secret, mg):
		return "" // the object says so
	}
	now := login{secret.ResourceVersion, t.ledger.lastMutation}
	if t.logins[mg.GetUID()] == now {
		return ""
	}
	err = t.host.callProbe("Probe.Authenticate", func(ctx context.Context) error {
		return a.Authenticate(ctx, secret.DeepCopy().Data)
	})
	switch {
	case isTimeout(err):
		_ = t.host.giveUpProbe("Probe.Authenticate fails: "+maskDetails(err.Error(), secret), err)

		return ""
	case err != nil && !t.host.stopped():
		return fmt.Sprintf("an application cannot log in with its connection Secret %s: %s", secretOf(mg),
			maskDetails(err.Error(), secret))
	}
	if t.logins == nil {
		t.logins = map[types.UID]login{}
	}
	t.logins[mg.GetUID()] = now

	return ""
}

// lacksKeys reports whether a Secret lacks a key that an object published which created its resource. If only the
// response to a creation has a credential, the provider cannot get that of a resource that is adopted.
func (t *scenarioRun) lacksKeys(secret *corev1.Secret) bool {
	if secret == nil {
		return true
	}
	held := heldKeys(secret)

	return slices.ContainsFunc(t.publishedKeys, func(key string) bool { return !slices.Contains(held, key) })
}

// loginProblemOf is like loginProblem, for the object with a key. It returns "" if the object does not exist.
func (t *scenarioRun) loginProblemOf(key types.NamespacedName) string {
	mg := t.Get(key)
	if mg == nil {
		return ""
	}

	return t.loginProblem(mg)
}

// maskDetails replaces the values of a Secret in a text by their keys.
func maskDetails(text string, secret *corev1.Secret) string {
	type detail struct{ key, value string }
	var details []detail
	for key, value := range secret.Data {
		details = append(details, detail{key, string(value)})
	}
	slices.SortFunc(details, func(a, b detail) int { // a value may contain another one
		if n := len(b.value) - len(a.value); n != 0 {
			return n
		}

		return strings.Compare(a.key, b.key)
	})
	for _, d := range details {
		if d.value != "" {
			text = strings.ReplaceAll(text, d.value, "<"+d.key+">")
		}
	}

	return text
}

// Settle waits until every object is in its desired state. Then an application logs in with each connection Secret.
func (t *scenarioRun) Settle() {
	t.lastWait = time.Time{}
	t.World.Settle()
	if mg := t.Get(t.key); mg != nil && secretOf(mg) != "" {
		secret, err := t.readSecret(mg)
		if err == nil && secret != nil && metav1.IsControlledBy(secret, mg) && len(heldKeys(secret)) > len(t.publishedKeys) {
			t.publishedKeys = heldKeys(secret)
		}
	}
	for _, sample := range []resource.Managed{t.sample, t.second} {
		if sample != nil {
			t.checkLogin(types.NamespacedName{Namespace: t.key.Namespace, Name: sample.GetName()})
		}
	}
}

// checkLogin checks that an application can log in with the connection Secret of an object that is Ready. The provider
// may take two more polls.
func (t *scenarioRun) checkLogin(key types.NamespacedName) {
	why := ""
	for _, wait := range []time.Duration{0, time.Second, time.Minute, 2 * time.Minute} {
		if wait > 0 {
			t.Live(wait)
			t.World.Settle() // a fault may have come meanwhile
		}
		if why = t.loginProblemOf(key); why == "" {
			return
		}
	}
	for t.waitWithinPatience() { // the external system may take its time
		if why = t.loginProblemOf(key); why == "" {
			return
		}
	}
	t.Violate("details-work", fmt.Sprintf("%s is Ready, and %s. Publish a credential before it is set, and keep none "+
		"only in the memory of the process", key.Name, why))
}

// checkFirstLogin checks, without faults, that an application can log in once an object is Ready for the first time and
// the provider waits for its next poll. The external system has the patience of the suite for that. The provider
// gets no pass meanwhile: if the details work only after one, it was not time that made them work.
func (t *scenarioRun) checkFirstLogin() {
	if _, ok := t.suite.Probe.(Authenticator); !ok || t.disturbs {
		return
	}
	t.lastWait = time.Time{}
	t.World.Settle()
	t.Live(beforePoll)
	why := t.loginProblemOf(t.key)
	for why != "" && t.waitWithinPatience() {
		why = t.loginProblemOf(t.key)
	}
	if why != "" && !t.host.stopped() {
		t.Violate("details-work", fmt.Sprintf("%s is Ready for the first time, the provider waits for its next poll, and "+
			"%s. Report Ready only after the published details work", t.key.Name, why))
	}
}

// beforePoll is the virtual time in which the passes are made that follow a creation at once. It is shorter than a
// poll interval.
const beforePoll = 10 * time.Second
