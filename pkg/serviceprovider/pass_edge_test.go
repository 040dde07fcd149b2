package serviceprovider

import (
	"context"
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/panics"
	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/serviceprovider/internal/lifecycle"
)

// TestEmptyTextBuildsNoMask verifies that an empty text builds no mask: most passes have no
// message.
func TestEmptyTextBuildsNoMask(t *testing.T) {
	w := newFakeWorld(t)
	w.restart()
	p := &pass[*Foo, *FooConfig]{r: w.r}
	if text := p.redactText(""); text != "" || p.secrets.cachedMask != nil {
		t.Errorf("got %q, mask %v", text, p.secrets.cachedMask)
	}
	if text := p.redactText("a text"); text != "a text" || p.secrets.cachedMask == nil {
		t.Errorf("got %q, mask %v", text, p.secrets.cachedMask)
	}
}

// resultDomain is a domain with a given result of Delete.
type resultDomain struct {
	*domain

	result ctrl.Result
	err    error
}

func (l resultDomain) Delete(context.Context, *Foo, *FooConfig, ClusterContext) (ctrl.Result, error) {
	return l.result, l.err
}

// TestDeleteResult verifies that only an empty result without an error ends the deletion.
func TestDeleteResult(t *testing.T) {
	for name, tc := range map[string]struct {
		leaver resultDomain
		want   bool
	}{
		"removed":  {resultDomain{}, true},
		"it fails": {resultDomain{err: boom}, false},
		"it waits": {resultDomain{result: ctrl.Result{RequeueAfter: 1}}, false},
		"again": {
			resultDomain{result: ctrl.Result{Requeue: true}}, false, //nolint:staticcheck // older domains return it
		},
	} {
		w := newFakeWorld(t)
		w.restart()
		w.r.domain = tc.leaver
		p := &pass[*Foo, *FooConfig]{r: w.r}
		if over := p.deleteService(t.Context()); p.facts.ServiceDeleted != tc.want || (over == nil) != tc.want {
			t.Errorf("%s: cleaned %t, outcome %+v", name, p.facts.ServiceDeleted, over)
		}
	}
}

// TestServiceCreatedInFirstPass verifies that a pass that adds the finalizer and calls the domain
// sets Created.
func TestServiceCreatedInFirstPass(t *testing.T) {
	for name, tc := range map[string]struct {
		called bool
		want   metav1.ConditionStatus
	}{"called": {true, metav1.ConditionTrue}, "not called": {false, metav1.ConditionFalse}} {
		w := newFakeWorld(t)
		w.restart()
		p := &pass[*Foo, *FooConfig]{r: w.r, obj: newFoo(), base: newFoo(), domainCalled: tc.called}
		p.facts.HasFinalizer = true
		p.setServiceCreated()
		if c := meta.FindStatusCondition(*p.obj.GetConditions(), ConditionServiceCreated); c == nil ||
			c.Status != tc.want {
			t.Errorf("%s: the condition is %+v", name, c)
		}
	}
}

// TestPanicOfAccess verifies that a panic of the provider sets ClusterAccessFailed, also after
// access was granted.
func TestPanicOfAccess(t *testing.T) {
	for name, tc := range map[string]struct {
		action  lifecycle.Action
		granted bool
		want    string
	}{
		"access":                    {lifecycle.RequestAccess, false, ReasonClusterAccessFailed},
		"access, which was granted": {lifecycle.RequestAccess, true, ReasonClusterAccessFailed},
		"the domain":                {lifecycle.CreateOrUpdate, true, ReasonGranted},
		"before there is access":    {lifecycle.ReadConfig, false, ""},
	} {
		w := newFakeWorld(t)
		w.restart()
		p := &pass[*Foo, *FooConfig]{r: w.r, obj: newFoo(), base: newFoo()}
		p.facts.Granted = tc.granted
		var err *panics.Error
		if !errors.As(panics.Call(func() error { panic("a defect") }), &err) {
			t.Fatal("no panic")
		}
		if o := p.panicOutcome(tc.action, err); o.accessReason != tc.want {
			t.Errorf("%s: the reason is %q, want %q", name, o.accessReason, tc.want)
		}
	}
}

// concealingClient conceals a secret and fails with it.
type concealingClient struct{ client.Client }

func (concealingClient) Get(ctx context.Context, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	redact.Conceal(ctx, []byte("correct-horse"))

	return errors.New("denied to correct-horse")
}

// TestConcealedByReaderIsRedacted verifies that secrets are collected from the first read on.
func TestConcealedByReaderIsRedacted(t *testing.T) {
	w := newFakeWorld(t)
	w.restart()
	w.r.cache = concealingClient{}
	_, err := w.r.Reconcile(t.Context(), ctrl.Request{})
	if err == nil || strings.Contains(err.Error(), "correct-horse") {
		t.Errorf("error %v", err)
	}
}
