package test

import (
	"context"
	"net/http"
	"strings"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// Count returns a client that counts its calls in the ledger, as if each were a request to an API server. Watches are
// not counted. Use it for a client that sends no requests, such as the client of a store.
func (l *Ledger) Count(c client.WithWatch) client.WithWatch {
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			return l.note(c, http.MethodGet, o, key, "", func() error { return c.Get(ctx, key, o, opts...) })
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			return l.note(c, http.MethodGet, list, client.ObjectKey{}, "",
				func() error { return c.List(ctx, list, opts...) })
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return l.note(c, http.MethodPost, o, client.ObjectKeyFromObject(o), "",
				func() error { return c.Create(ctx, o, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return l.note(c, http.MethodPut, o, client.ObjectKeyFromObject(o), "",
				func() error { return c.Update(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch,
			opts ...client.PatchOption) error {
			return l.note(c, http.MethodPatch, o, client.ObjectKeyFromObject(o), "",
				func() error { return c.Patch(ctx, o, patch, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return l.note(c, http.MethodDelete, o, client.ObjectKeyFromObject(o), "",
				func() error { return c.Delete(ctx, o, opts...) })
		},
		DeleteAllOf: func(ctx context.Context, c client.WithWatch, o client.Object,
			opts ...client.DeleteAllOfOption) error {
			return l.note(c, http.MethodDelete, o, client.ObjectKey{}, "",
				func() error { return c.DeleteAllOf(ctx, o, opts...) })
		},
		Watch: func(ctx context.Context, c client.WithWatch, list client.ObjectList,
			opts ...client.ListOption) (watch.Interface, error) {
			return c.Watch(ctx, list, opts...) // watches are not counted
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object,
			opts ...client.SubResourceUpdateOption) error {
			return l.note(c, http.MethodPut, o, client.ObjectKeyFromObject(o), sub,
				func() error { return c.SubResource(sub).Update(ctx, o, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch,
			opts ...client.SubResourcePatchOption) error {
			return l.note(c, http.MethodPatch, o, client.ObjectKeyFromObject(o), sub,
				func() error { return c.SubResource(sub).Patch(ctx, o, patch, opts...) })
		},
	})
}

// note counts a call, makes it, and returns its error.
func (l *Ledger) note(c client.Client, verb string, o runtime.Object, key client.ObjectKey, sub string,
	call func() error) error {
	r := Request{Verb: verb, Name: key.Name}
	if gvk, kindErr := apiutil.GVKForObject(o, c.Scheme()); kindErr == nil {
		if _, ok := o.(client.ObjectList); ok {
			gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
		}
		if mapping, mapErr := c.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version); mapErr == nil {
			r.Resource = mapping.Resource.Resource
		}
	}
	if sub != "" {
		r.Resource += "/" + sub
	}
	answered := l.send(r, key.Namespace)
	err := call()
	answered(statusOf(err))

	return err
}

// statusOf returns the HTTP status that an error stands for, 0 if there was no answer.
func statusOf(err error) int {
	if err == nil {
		return http.StatusOK
	}
	if status := kerrors.APIStatus(nil); errors.As(err, &status) {
		return int(status.Status().Code)
	}

	return 0
}
