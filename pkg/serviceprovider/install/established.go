package install

import (
	"context"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// EstablishTimeout is the maximum time for which the function CRDs waits until the applied CustomResourceDefinitions
// are established.
const EstablishTimeout = time.Minute

// ErrNotEstablished means that the function CRDs has applied CustomResourceDefinitions that are not established in
// time.
var ErrNotEstablished = errors.New("definitions are not established")

// pace is the interval between two reads of a definition.
const pace = 200 * time.Millisecond

// established waits until all CRDs are established.
func established(ctx context.Context, all []target) error {
	ctx, cancel := context.WithTimeout(ctx, EstablishTimeout)
	defer cancel()
	tick := time.NewTicker(pace)
	defer tick.Stop()
	said := "" // the missing definitions, as of the last successful read
	for {
		missing, err := unserved(ctx, all)
		switch {
		case err == nil && len(missing) == 0:
			return nil
		case err == nil:
			said = strings.Join(missing, ", ")
		case ctx.Err() == nil:
			return err
		}
		select {
		case <-ctx.Done():
			if said == "" {
				return errors.Wrap(ctx.Err(), "cannot tell whether the definitions are established")
			}

			return errors.Errorf("%w: %s: %w", ErrNotEstablished, said, ctx.Err())
		case <-tick.C:
		}
	}
}

// unserved returns the CRDs that are not established, each with the reason, if it is known.
func unserved(ctx context.Context, all []target) (missing []string, err error) {
	for _, t := range all {
		crd := &unstructured.Unstructured{}
		crd.SetGroupVersionKind(t.crd.GroupVersionKind())
		if err := t.Get(ctx, client.ObjectKeyFromObject(t.crd), crd); err != nil {
			return nil, errors.Wrapf(err, "cannot tell whether %s is established", t.crd.GetName())
		}
		ok, why := state(crd)
		if ok {
			continue
		}
		said := t.crd.GetName()
		if why != "" {
			said += " (" + why + ")"
		}
		missing = append(missing, said)
	}

	return missing, nil
}

// state reports whether a CRD is established. It also returns the problem with the names of the CRD, if there is one.
func state(crd *unstructured.Unstructured) (ok bool, why string) {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		switch kind, status := condition["type"], condition["status"]; {
		case kind == "Established" && status == "True":
			ok = true
		case kind == "NamesAccepted" && status == "False":
			why, _ = condition["message"].(string)
		}
	}

	return ok, why
}
