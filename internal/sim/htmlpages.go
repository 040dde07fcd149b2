package sim

import (
	"net/http"
	"strings"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// page returns the error that client-go makes of a response that does not come from the API server. The error has the
// requested name, and a cause that says that the response was unexpected. An API server that does not serve the kind
// responds without a name.
func (o Operation) page(k Kind) error {
	if k == UnservedKind {
		return &kerrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
			Message: "the server could not find the requested resource", Details: &metav1.StatusDetails{},
		}}
	}

	return kerrors.NewGenericServerResponse(pages[k], o.verb(), o.resource(), o.key.Name,
		"<html><body>answered by another</body></html>", 0, true)
}

// pages has the HTTP codes of the pages that replace a response of the API server.
var pages = map[Kind]int{
	Unserved: http.StatusNotFound, UnservedForbidden: http.StatusForbidden, UnservedGateway: http.StatusBadGateway,
	UnservedAfter: http.StatusNotFound, UnservedForbiddenAfter: http.StatusForbidden,
}

// verb returns the verb of the request.
func (o Operation) verb() string {
	verb, _, _ := strings.Cut(o.Name, "/")
	verb, _, _ = strings.Cut(verb, ":")
	if verb == "live" {
		return "get"
	}

	return verb
}

// denial returns the error of a write that the API server refuses regardless of its content. The reason is a validation
// rule or a webhook, the size of the request, or the permissions of the provider.
func (o Operation) denial(k Kind) error {
	switch k {
	case RefusedSize:
		return kerrors.NewRequestEntityTooLargeError("limit is 3145728")
	case RefusedAccess:
		return kerrors.NewForbidden(o.resource(), o.key.Name,
			errors.New("exceeded quota: things, requested: 1, used: 10, limited: 10"))
	default:
		rule := field.Invalid(field.NewPath("spec"), "object", "failed rule: a policy has changed")

		return kerrors.NewInvalid(o.kind.GroupKind(), o.key.Name, field.ErrorList{rule})
	}
}

func (o Operation) resource() schema.GroupResource {
	return schema.GroupResource{Group: o.kind.Group, Resource: strings.ToLower(o.kind.Kind) + "s"}
}
