package syncer_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/syncer"
)

var (
	notFound  = apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, "a")
	noSystem  = apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "kube-system")
	notServed = apierrors.NewGenericServerResponse(404, "get", schema.GroupResource{}, "a", "404 page not found", 0, true)
)

// confirmCases returns the responses of an API server to the three reads of a
// confirmation: identity, object, identity.
func confirmCases(replaced error) map[string]confirmCase {
	boom := errors.New("unreachable")
	return map[string]confirmCase{
		"Gone": {
			"The original cluster confirms it.", identityResponse{uid: "first"}, notFound, identityResponse{uid: "first"}, nil,
			true,
		},
		"Exists": {
			"The cache is stale.", identityResponse{uid: "first"}, nil, identityResponse{uid: "first"}, nil, false,
		},
		"Other": {
			"Another cluster answers.", identityResponse{uid: "second"}, notFound, identityResponse{uid: "second"}, replaced,
			false,
		},
		"OtherBefore": {
			"Another cluster answered first, then the original one.", identityResponse{uid: "second"}, notFound,
			identityResponse{uid: "first"}, replaced, false,
		},
		"OtherAfter": {
			"Another cluster answers after the read.", identityResponse{uid: "first"}, notFound, identityResponse{uid: "second"},
			replaced, false,
		},
		"Emptied": {
			"The cluster lost its data.", identityResponse{err: noSystem}, notFound, identityResponse{err: noSystem}, replaced,
			false,
		},
		"EmptiedAfter": {
			"The cluster lost its data during the read.", identityResponse{uid: "first"}, notFound,
			identityResponse{err: noSystem}, replaced, false,
		},
		"Down": {
			"The cluster does not answer.", identityResponse{err: boom}, boom, identityResponse{err: boom}, boom, false,
		},
		"DownBetween": {
			"The read of the object fails.", identityResponse{uid: "first"}, boom, identityResponse{uid: "first"}, boom, false,
		},
		"DownBefore": {
			"The first read of the identity fails.", identityResponse{err: boom}, notFound, identityResponse{uid: "first"}, boom,
			false,
		},
		"DownAfter": {
			"The second read of the identity fails.", identityResponse{uid: "first"}, notFound, identityResponse{err: boom},
			boom, false,
		},
		"Proxy": {
			"A proxy answers the first read of the identity.", identityResponse{err: notServed}, notFound,
			identityResponse{uid: "first"}, nil, false,
		},
		"ProxyAfter": {
			"A proxy answers the second read of the identity.", identityResponse{uid: "first"}, notFound,
			identityResponse{err: notServed}, nil, false,
		},
		"NotServed": {
			"The kind is not served, which does not mean that the object is gone.", identityResponse{uid: "first"}, notServed,
			identityResponse{uid: "first"}, nil, false,
		},
	}
}

// A confirmCase contains the three responses and the expected outcome.
type confirmCase struct {
	reason  string
	before  identityResponse
	object  error // of the live read; nil: the object exists
	after   identityResponse
	want    error
	deleted bool
}

// An identityResponse is the response to a read of the kube-system namespace.
type identityResponse struct {
	uid types.UID
	err error
}

// TestConfirmDeletion verifies that a host object is deleted only if the original API
// server confirms that the virtual object is gone.
func TestConfirmDeletion(t *testing.T) {
	for name, tc := range confirmCases(syncer.ErrVirtualClusterReplaced) {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, worldOptions{p: []runtime.Object{imageOf("a")}})
			live := &scriptedReader{Reader: w.API, uid: "first"}
			w.reg.VirtualManager = readerManager{w.reg.VirtualManager, live}
			core, err := syncer.NewCore(w.reg, w.syncer, withRecorder(syncer.Options{}, w.events), w.clock)
			w.Must(err)
			live.script(tc)
			w.core = core
			_, err = w.pass("a")
			if tc.want != nil && !errors.Is(err, tc.want) {
				t.Errorf("%s\ngot error %v, want %v", tc.reason, err, tc.want)
			}
			if tc.want == nil && errors.Is(err, syncer.ErrVirtualClusterReplaced) {
				t.Errorf("%s\ngot error %v", tc.reason, err)
			}
			if gone := w.hostNames() == nil; gone != tc.deleted {
				t.Errorf("%s\nthe host object is gone: %t", tc.reason, gone)
			}
		})
	}
}

// TestHostIdentity verifies that a host object counts as gone only if the original host
// confirms it.
func TestHostIdentity(t *testing.T) {
	for name, tc := range confirmCases(syncer.ErrHostReplaced) {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, worldOptions{})
			live := &scriptedReader{Reader: w.p, uid: "first"}
			w.reg.PhysicalManager = readerManager{w.reg.PhysicalManager, live}
			identity, err := syncer.NewHostIdentity(t.Context(), w.reg)
			if err != nil || identity.UID() != "first" {
				t.Fatalf("got %q, %v", identity.UID(), err)
			}
			live.script(tc)
			err = identity.Gone(t.Context(), &corev1.ConfigMap{}, types.NamespacedName{Namespace: target, Name: "a"})
			if tc.want != nil && !errors.Is(err, tc.want) || (err == nil) != tc.deleted {
				t.Errorf("%s\ngot error %v, want %v", tc.reason, err, tc.want)
			}
			if tc.want == nil && errors.Is(err, syncer.ErrHostReplaced) {
				t.Errorf("%s\ngot error %v", tc.reason, err)
			}
			if there := tc.object == nil; there && !apierrors.IsConflict(err) {
				t.Errorf("%s\ngot %v, want a conflict", tc.reason, err)
			}
		})
	}
}

// TestHostIdentityErrors verifies that errors of a HostIdentity name the host and the
// object.
func TestHostIdentityErrors(t *testing.T) {
	w := newWorld(t, worldOptions{})
	live := &scriptedReader{
		Reader: w.p, responses: []identityResponse{{err: errBoom}, {uid: "first"}, {uid: "first"}, {uid: "first"}},
	}
	w.reg.PhysicalManager = readerManager{w.reg.PhysicalManager, live}
	if _, err := syncer.NewHostIdentity(t.Context(), w.reg); !errors.Is(err, errBoom) ||
		!strings.Contains(err.Error(), "kube-system of the host, ") {
		t.Errorf("got error %v", err)
	}
	identity, err := syncer.NewHostIdentity(t.Context(), w.reg)
	w.Must(err)
	var status apierrors.APIStatus
	err = identity.Gone(t.Context(), &corev1.ConfigMap{}, types.NamespacedName{Namespace: target, Name: "a"})
	if !errors.As(err, &status) || status.Status().Details.Kind != "objects" || status.Status().Details.Name != "a" {
		t.Errorf("got error %v", err)
	}
}

// A scriptedReader is an API reader with scripted responses.
type scriptedReader struct {
	client.Reader

	object    error
	uid       types.UID          // it is this one, whenever it is asked
	responses []identityResponse // or these, one after the other
}

func (a *scriptedReader) script(c confirmCase) {
	a.object, a.uid, a.responses = c.object, "", []identityResponse{c.before, c.after}
}

func (a *scriptedReader) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	if _, system := obj.(*corev1.Namespace); !system {
		return a.object
	}
	if a.uid != "" {
		obj.SetUID(a.uid)
		return nil
	}
	now := a.responses[0]
	a.responses = a.responses[1:]
	obj.SetUID(now.uid)
	return now.err
}

type readerManager struct {
	ctrl.Manager

	live client.Reader
}

func (m readerManager) GetAPIReader() client.Reader { return m.live }
