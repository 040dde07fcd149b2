package conformance

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A deletedSecret is the connection Secret of an object that a user has deleted.
type deletedSecret struct {
	name string
	keys []string // that had a value
}

// restored reports whether a Secret has all keys of the deleted one.
func (d deletedSecret) restored(secret *corev1.Secret) bool {
	return secret != nil && !slices.ContainsFunc(d.keys, func(key string) bool { return len(secret.Data[key]) == 0 })
}

// isDeletedSecret reports whether a user has deleted the connection Secret of an object, and it is not restored. The
// argument secret is the Secret that exists, or nil.
func (t *scenarioRun) isDeletedSecret(mg resource.Managed, secret *corev1.Secret) bool {
	return t.deleted.name != "" && t.deleted.name == secretOf(mg) && !t.deleted.restored(secret)
}

// deleteSecret runs the scenario "secret-deleted". A user deletes the connection Secret, and requests a reconcile. If
// this does not restore all keys, the user applies the mutations. A restored Secret has to work. No client is blamed
// for a Secret that is not restored: a credential that only Create knows is lost, and a client that reads no Secret
// while nothing changes does not see the loss.
func (t *scenarioRun) deleteSecret() {
	t.createObject()
	t.Settle()
	mg := t.Get(t.key)
	if mg == nil {
		return // a fault has deleted it
	}
	secret, err := t.readSecret(mg)
	if err != nil || secret == nil {
		return // nothing was published
	}
	t.deleted = deletedSecret{name: secret.Name, keys: heldKeys(secret)}
	if err := t.Client().Delete(context.Background(), secret); err != nil {
		t.failSetup("cannot delete the connection Secret", err)

		return
	}
	t.Annotate(t.key, meta.AnnotationKeyReconcileRequestedAt, "after the deletion of the Secret")
	t.Settle()
	for i := range t.suite.Mutations {
		if m := &t.suite.Mutations[i]; !m.Immutable && !t.isRestored() {
			t.applyMutation(m)
			t.Settle()
			t.applyMutation(nil)
			t.Settle()
		}
	}
	if !t.isRestored() && !t.Disturbed() {
		t.warnOnce(fmt.Sprintf("after a user has deleted the connection Secret of %s, neither a change of the annotation "+
			"%s nor a mutation restores its keys %v: say in the documentation of the kind how to get working credentials",
			t.sample.GetName(), meta.AnnotationKeyReconcileRequestedAt, t.deleted.keys))
	}
	t.restAfterDoubt()
}

// isRestored reports whether the connection Secret that a user has deleted is there again, with all keys.
func (t *scenarioRun) isRestored() bool {
	mg := t.Get(t.key)
	if mg == nil {
		return true // a fault has deleted it
	}
	secret, err := t.readSecret(mg)

	return err == nil && t.deleted.restored(secret)
}

// heldKeys returns the keys of a Secret that have a value.
func heldKeys(secret *corev1.Secret) []string {
	var keys []string
	for key, value := range secret.Data {
		if len(value) > 0 {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)

	return keys
}

// inheritSecret runs the scenario "secret-of-predecessor". An object of the same name was there before, and its
// connection Secret is still there when the object is created. The garbage collector deletes it soon.
func (t *scenarioRun) inheritSecret() {
	if secretOf(t.sample) == "" {
		return
	}
	earlier := fresh(t.sample)
	meta.AddAnnotations(earlier, map[string]string{meta.AnnotationKeyReconciliationPaused: "true"})
	t.names[t.Create(earlier)] = "an earlier object"
	secret := controlledSecret(t.suite.Kind, earlier)
	secret.Data = map[string][]byte{}
	for _, key := range append(t.publishedKeys, "username", "password") {
		secret.Data[key] = []byte("of the earlier object")
	}
	if err := t.Client().Create(context.Background(), secret); err != nil {
		t.failSetup("cannot create the Secret of an earlier object", err)

		return
	}
	t.Delete(t.key)
	t.createObject()
	t.Settle()
	t.restAfterDoubt()
}

// failSetup stops the suite because the API server of a schedule has refused what the scenario needs.
func (t *scenarioRun) failSetup(what string, err error) {
	_ = t.host.giveUp("suite-is-complete", what+": "+err.Error())
}
