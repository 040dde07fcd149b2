package managed

import (
	"context"
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// A CriticalAnnotationUpdater stores the annotations of an object that must not be lost, above all the external name
// that Create has set.
type CriticalAnnotationUpdater interface {
	// UpdateCriticalAnnotations stores the annotations of o. The context ctx survives a shutdown and ends after 25
	// seconds. UpdateCriticalAnnotations may replace the content of o with the response of the API server.
	UpdateCriticalAnnotations(ctx context.Context, o client.Object) error
}

// A CriticalAnnotationUpdateFn is a function that is a
// CriticalAnnotationUpdater.
type CriticalAnnotationUpdateFn func(ctx context.Context, o client.Object) error

// UpdateCriticalAnnotations calls the function.
func (fn CriticalAnnotationUpdateFn) UpdateCriticalAnnotations(ctx context.Context, o client.Object) error {
	return fn(ctx, o)
}

// A RetryingCriticalAnnotationUpdater stores annotations by a patch that cannot conflict, and retries until its context
// ends. Use it to store annotations outside of a pass. Within a pass the Reconciler stores annotations itself, in the
// same way.
type RetryingCriticalAnnotationUpdater struct {
	client client.Client
}

// NewRetryingCriticalAnnotationUpdater returns an updater that writes through c.
func NewRetryingCriticalAnnotationUpdater(c client.Client) *RetryingCriticalAnnotationUpdater {
	return &RetryingCriticalAnnotationUpdater{client: c}
}

// UpdateCriticalAnnotations stores the annotations of o, except the annotations by which users instruct the reconciler.
// It retries until ctx ends, or for 25 seconds if ctx has no deadline or is nil. UpdateCriticalAnnotations gives up
// when the object is gone or another object has its name. On success o has the content of the API server's response.
func (u *RetryingCriticalAnnotationUpdater) UpdateCriticalAnnotations(ctx context.Context, o client.Object) error {
	if ctx == nil {
		ctx = context.Background()
	}
	if _, ends := ctx.Deadline(); !ends {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, resultTimeout)
		defer cancel()
	}
	annotations := map[string]string{}
	for key, value := range o.GetAnnotations() {
		if !belongsToUser(key) {
			annotations[key] = value
		}
	}
	metadata := map[string]any{"annotations": annotations}
	if uid := o.GetUID(); uid != "" {
		metadata["uid"] = uid
	}
	data, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return errors.Wrap(err, "cannot encode patch")
	}

	return errors.Wrap(persistently(ctx, func(ctx context.Context) error {
		err := u.client.Patch(ctx, o, client.RawPatch(types.MergePatchType, data))
		if anotherUID(err) || gone.Answered(err, o.GetName()) {
			return errReplaced
		}

		return err
	}), "cannot update critical annotations")
}

// belongsToUser reports whether an annotation is an instruction of a user to this runtime or to kubectl. A write of
// an older copy of the object must not revert it.
func belongsToUser(key string) bool {
	ours := strings.HasPrefix(key, "krateo.io/") || strings.HasPrefix(key, "moorage.dev/")

	return ours && !ownedAnnotations[key] || key == "kubectl.kubernetes.io/last-applied-configuration"
}
