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

// confirmations are what an API server says when it is asked who it is, for the
// object, and once more who it is.
func confirmations(replaced error) map[string]confirmation {
	boom := errors.New("unreachable")
	return map[string]confirmation{
		"Gone":         {"The right cluster says so.", says{uid: "first"}, notFound, says{uid: "first"}, nil, true},
		"Exists":       {"The cache is behind.", says{uid: "first"}, nil, says{uid: "first"}, nil, false},
		"Other":        {"Another cluster answers.", says{uid: "second"}, notFound, says{uid: "second"}, replaced, false},
		"OtherBefore":  {"Another cluster has answered, and the right one has come back.", says{uid: "second"}, notFound, says{uid: "first"}, replaced, false},
		"OtherAfter":   {"Another cluster has taken its place in between.", says{uid: "first"}, notFound, says{uid: "second"}, replaced, false},
		"Emptied":      {"The cluster has lost its data.", says{err: noSystem}, notFound, says{err: noSystem}, replaced, false},
		"EmptiedAfter": {"The cluster has lost its data in between.", says{uid: "first"}, notFound, says{err: noSystem}, replaced, false},
		"Down":         {"Nobody answers.", says{err: boom}, boom, says{err: boom}, boom, false},
		"DownBetween":  {"Nobody answers for the object.", says{uid: "first"}, boom, says{uid: "first"}, boom, false},
		"DownBefore":   {"Nobody says who would answer.", says{err: boom}, notFound, says{uid: "first"}, boom, false},
		"DownAfter":    {"Nobody says who answered.", says{uid: "first"}, notFound, says{err: boom}, boom, false},
		"Proxy":        {"A proxy answers whoever asks who it is.", says{err: notServed}, notFound, says{uid: "first"}, nil, false},
		"ProxyAfter":   {"A proxy answers the last question.", says{uid: "first"}, notFound, says{err: notServed}, nil, false},
		"NotServed":    {"The kind is not served, which says nothing about objects.", says{uid: "first"}, notServed, says{uid: "first"}, nil, false},
	}
}

type confirmation struct {
	reason string
	before says
	object error // of the live read; nil: the object exists
	after  says
	want   error
	gone   bool
}

// says is an answer to the question who it is.
type says struct {
	uid types.UID
	err error
}

// TestConfirmation: nothing is deleted unless the right API server says that the
// virtual object is gone.
func TestConfirmation(t *testing.T) {
	for name, tc := range confirmations(syncer.ErrVirtualClusterReplaced) {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, setting{p: []runtime.Object{imageOf("a")}})
			live := &answers{Reader: w.API, pinned: "first"}
			w.reg.VirtualManager = managerOf{w.reg.VirtualManager, live}
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
			if gone := w.hostNames() == nil; gone != tc.gone {
				t.Errorf("%s\nthe host object is gone: %t", tc.reason, gone)
			}
		})
	}
}

// TestHostWitness: what the host does not have is gone only if the right host says so.
func TestHostWitness(t *testing.T) {
	for name, tc := range confirmations(syncer.ErrHostReplaced) {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, setting{})
			live := &answers{Reader: w.p, pinned: "first"}
			w.reg.PhysicalManager = managerOf{w.reg.PhysicalManager, live}
			witness, err := syncer.NewHostWitness(t.Context(), w.reg)
			if err != nil || witness.UID() != "first" {
				t.Fatalf("got %q, %v", witness.UID(), err)
			}
			live.script(tc)
			err = witness.Gone(t.Context(), &corev1.ConfigMap{}, types.NamespacedName{Namespace: target, Name: "a"})
			if tc.want != nil && !errors.Is(err, tc.want) || (err == nil) != tc.gone {
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

// TestHostWitnessSays: what a witness of the host says is about the host, and about an object.
func TestHostWitnessSays(t *testing.T) {
	w := newWorld(t, setting{})
	live := &answers{Reader: w.p, who: []says{{err: errBoom}, {uid: "first"}, {uid: "first"}, {uid: "first"}}}
	w.reg.PhysicalManager = managerOf{w.reg.PhysicalManager, live}
	if _, err := syncer.NewHostWitness(t.Context(), w.reg); !errors.Is(err, errBoom) || !strings.Contains(err.Error(), "kube-system of the host, ") {
		t.Errorf("got error %v", err)
	}
	witness, err := syncer.NewHostWitness(t.Context(), w.reg)
	w.Must(err)
	var status apierrors.APIStatus
	err = witness.Gone(t.Context(), &corev1.ConfigMap{}, types.NamespacedName{Namespace: target, Name: "a"})
	if !errors.As(err, &status) || status.Status().Details.Kind != "objects" || status.Status().Details.Name != "a" {
		t.Errorf("got error %v", err)
	}
}

// answers is what an API server says.
type answers struct {
	client.Reader

	object error
	pinned types.UID // it is this one, whenever it is asked
	who    []says    // or these, one after the other
}

func (a *answers) script(c confirmation) {
	a.object, a.pinned, a.who = c.object, "", []says{c.before, c.after}
}

func (a *answers) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	if _, system := obj.(*corev1.Namespace); !system {
		return a.object
	}
	if a.pinned != "" {
		obj.SetUID(a.pinned)
		return nil
	}
	now := a.who[0]
	a.who = a.who[1:]
	obj.SetUID(now.uid)
	return now.err
}

type managerOf struct {
	ctrl.Manager

	live client.Reader
}

func (m managerOf) GetAPIReader() client.Reader { return m.live }
