// Package connsecret helps writers of connection Secrets. It determines which details a Secret can hold, and whether
// the Secret could be written. Start with Create.
package connsecret

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// keyOfDryRun is the key that only dry runs write.
const keyOfDryRun = "moorage.dev.dry-run"

// An UnheldError names the keys of details that a Secret cannot hold. The other keys are written nevertheless.
type UnheldError struct {
	Invalid  []string // are no keys of a Secret
	TooLarge []string // have values for which the Secret has no room
}

// Error returns a text that names the keys and contains no value.
func (e *UnheldError) Error() string {
	var parts []string
	if len(e.Invalid) > 0 {
		parts = append(parts, quoted(e.Invalid)+" (not valid as a key)")
	}
	if len(e.TooLarge) > 0 {
		parts = append(parts, fmt.Sprintf("%s (with them more than the %d bytes that it may have in sum)",
			quoted(e.TooLarge), corev1.MaxSecretSize))
	}

	return "the connection secret cannot hold all details: " + strings.Join(parts, "; ")
}

func quoted(keys []string) string {
	const most = 8
	texts := make([]string, 0, most+1)
	for _, key := range keys[:min(len(keys), most)] {
		texts = append(texts, fmt.Sprintf("%.64q", key))
	}
	if len(keys) > most {
		texts = append(texts, fmt.Sprintf("and %d more", len(keys)-most))
	}

	return strings.Join(texts, ", ")
}

// Changes returns those details that must be written to a Secret whose data is the argument held: each detail whose key
// is missing there, or has another value. If the Secret has no room for all of them, Changes also returns an
// [UnheldError].
//
// An empty value in details does not replace an existing value. External systems return an empty value to mask a
// secret.
func Changes(held, details map[string][]byte) (map[string][]byte, error) {
	room := corev1.MaxSecretSize
	for _, value := range held {
		room -= len(value)
	}
	smallestFirst := slices.SortedFunc(maps.Keys(details), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(details[a]), len(details[b])), cmp.Compare(a, b))
	})
	changes, unheld := map[string][]byte{}, &UnheldError{}
	for _, key := range smallestFirst {
		value := details[key]
		have, has := held[key]
		added := len(value) - len(have)
		switch {
		case has && (len(value) == 0 || bytes.Equal(have, value)):
		case len(validation.IsConfigMapKey(key)) > 0:
			unheld.Invalid = append(unheld.Invalid, key)
		case added > max(room, 0):
			unheld.TooLarge = append(unheld.TooLarge, key)
		default:
			changes[key], room = value, room-added
		}
	}
	if len(unheld.Invalid)+len(unheld.TooLarge) == 0 {
		return changes, nil
	}

	return changes, unheld
}

// Create creates the Secret desired, and reports whether it created the Secret. It omits the keys that a Secret cannot
// hold, and names them in an [UnheldError]. If the Secret can hold none of its keys, Create does not create it.
func Create(ctx context.Context, c client.Client, desired *corev1.Secret) (bool, error) {
	fits, unheld := Changes(nil, desired.Data)
	if len(fits) == 0 && unheld != nil {
		return false, unheld
	}
	desired = desired.DeepCopy()
	desired.Data = fits
	if err := c.Create(ctx, desired); err != nil {
		return false, errors.Wrap(err, "cannot create connection secret")
	}

	return true, unheld
}

// Immutable returns an error if the Secret is immutable, and nil otherwise. The text of the error names the ways out:
// name another Secret, or delete this Secret.
func Immutable(secret *corev1.Secret) error {
	if secret.Immutable == nil || !*secret.Immutable {
		return nil
	}

	return errors.Errorf("secret %s is immutable, so that connection details cannot be written to it: "+
		"name another in spec.writeConnectionSecretToRef, or keep a copy of what it holds and delete it",
		secret.GetName())
}

// Prepare returns an error if data could not be written to the Secret. Data can be written if the Secret does not
// exist. Otherwise the Secret must have the right owner, and must neither be immutable nor being deleted. Prepare
// reads the Secret, and sends its creation or change as a dry run.
func Prepare(ctx context.Context, c client.Client, live client.Reader, desired *corev1.Secret,
	owned func(current *corev1.Secret) error) error {
	current := &corev1.Secret{}
	err := live.Get(ctx, client.ObjectKeyFromObject(desired), current)
	if gone.Answered(err, desired.Name) {
		desired = desired.DeepCopy()
		desired.Data = map[string][]byte{keyOfDryRun: {}}

		return errors.Wrap(c.Create(ctx, desired, client.DryRunAll), "cannot create connection secret")
	}
	if err != nil {
		return errors.Wrap(err, "cannot get connection secret")
	}
	if err := owned(current); err != nil {
		return err
	}
	if !current.DeletionTimestamp.IsZero() {
		return errors.New("the connection secret is being deleted")
	}
	if err := Immutable(current); err != nil {
		return err
	}
	patch := client.RawPatch(types.MergePatchType,
		[]byte(`{"metadata":{"uid":"`+string(current.GetUID())+`"},"data":{"`+keyOfDryRun+`":""}}`))

	return errors.Wrap(c.Patch(ctx, current, patch, client.DryRunAll), "cannot change connection secret")
}
