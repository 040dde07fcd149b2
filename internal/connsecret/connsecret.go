// Package connsecret is for writers of connection Secrets: it finds out which details a Secret
// can hold, and whether the Secret could be written. Start with Create.
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

// An UnheldError names the keys of details that this Secret, or any Secret, cannot hold. The
// other keys are written all the same.
type UnheldError struct {
	Invalid  []string // are no keys of a Secret
	TooLarge []string // have values for which the Secret has no room
}

// Error names the keys, and no value.
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

// Changes returns the details that a Secret with the held data lacks or has with another value,
// and an [UnheldError] if it cannot hold all of them. An empty value does not replace an
// existing one: external systems return an empty value to mask one.
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

// Create creates a Secret with those of its data that it can hold, and reports whether it did. The
// error is an [UnheldError] if it cannot hold all of them; if it can hold none, no Secret is
// created.
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

// Immutable returns an error that names the remedy if the data of a Secret cannot be changed.
func Immutable(secret *corev1.Secret) error {
	if secret.Immutable == nil || !*secret.Immutable {
		return nil
	}

	return errors.Errorf("secret %s is immutable, so that connection details cannot be written to it: "+
		"name another in spec.writeConnectionSecretToRef, or keep a copy of what it holds and delete it",
		secret.GetName())
}

// Prepare returns an error unless data could be written to the Secret: it does not exist, or is
// owned and can be changed. It reads the Secret and sends its creation or change as a dry run.
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
