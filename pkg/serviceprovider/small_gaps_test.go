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
	"github.com/moorage-dev/moorage/pkg/serviceprovider/internal/passage"
)

// TestAnEmptyTextCostsNoMask: most passes tell nothing that could bear a secret.
func TestAnEmptyTextCostsNoMask(t *testing.T) {
	w := newFakeWorld(t)
	w.restart()
	p := &pass[*Foo, *FooConfig]{r: w.r}
	if text := p.redacted(""); text != "" || p.secrets.masked != nil {
		t.Errorf("got %q, mask %v", text, p.secrets.masked)
	}
	if text := p.redacted("a text"); text != "a text" || p.secrets.masked == nil {
		t.Errorf("got %q, mask %v", text, p.secrets.masked)
	}
}

// A leaver is a domain whose deletion ends so.
type leaver struct {
	*domain

	result ctrl.Result
	err    error
}

func (l leaver) Delete(context.Context, *Foo, *FooConfig, ClusterContext) (ctrl.Result, error) {
	return l.result, l.err
}

// TestWhatIsCleaned: only what the domain has removed.
func TestWhatIsCleaned(t *testing.T) {
	for name, tc := range map[string]struct {
		leaver leaver
		want   bool
	}{
		"removed":  {leaver{}, true},
		"it fails": {leaver{err: boom}, false},
		"it waits": {leaver{result: ctrl.Result{RequeueAfter: 1}}, false},
		"again":    {leaver{result: ctrl.Result{Requeue: true}}, false}, //nolint:staticcheck // domains that were written for it still ask for it
	} {
		w := newFakeWorld(t)
		w.restart()
		w.r.domain = tc.leaver
		p := &pass[*Foo, *FooConfig]{r: w.r}
		if over := p.clean(t.Context()); p.facts.Cleaned != tc.want || (over == nil) != tc.want {
			t.Errorf("%s: cleaned %t, outcome %+v", name, p.facts.Cleaned, over)
		}
	}
}

// TestWhatIsSaidToBeMade: a pass that has called the domain says so although it put the finalizer on the object.
func TestWhatIsSaidToBeMade(t *testing.T) {
	for name, tc := range map[string]struct {
		called bool
		want   metav1.ConditionStatus
	}{"called": {true, metav1.ConditionTrue}, "not called": {false, metav1.ConditionFalse}} {
		w := newFakeWorld(t)
		w.restart()
		p := &pass[*Foo, *FooConfig]{r: w.r, obj: newFoo(), base: newFoo(), called: tc.called}
		p.facts.Held = true
		p.describeMade()
		if c := meta.FindStatusCondition(*p.obj.GetConditions(), ConditionServiceCreated); c == nil || c.Status != tc.want {
			t.Errorf("%s: the condition is %+v", name, c)
		}
	}
}

// TestAPanicOfAccessIsOneOfAccess: also where access was granted before.
func TestAPanicOfAccessIsOneOfAccess(t *testing.T) {
	for name, tc := range map[string]struct {
		action  passage.Action
		granted bool
		want    string
	}{
		"access":                    {passage.Access, false, ReasonClusterAccessFailed},
		"access, which was granted": {passage.Access, true, ReasonClusterAccessFailed},
		"the domain":                {passage.Work, true, ReasonGranted},
		"before there is access":    {passage.Configure, false, ""},
	} {
		w := newFakeWorld(t)
		w.restart()
		p := &pass[*Foo, *FooConfig]{r: w.r, obj: newFoo(), base: newFoo()}
		p.facts.Granted = tc.granted
		var err *panics.Error
		if !errors.As(panics.Call(func() error { panic("a defect") }), &err) {
			t.Fatal("no panic")
		}
		if o := p.panicked(tc.action, err); o.access != tc.want {
			t.Errorf("%s: the reason is %q, want %q", name, o.access, tc.want)
		}
	}
}

// A confiding client conceals a secret and fails with it.
type confiding struct{ client.Client }

func (confiding) Get(ctx context.Context, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	redact.Conceal(ctx, []byte("correct-horse"))

	return errors.New("denied to correct-horse")
}

// TestWhatAReaderConcealsIsNotTold: it is collected from the first read on.
func TestWhatAReaderConcealsIsNotTold(t *testing.T) {
	w := newFakeWorld(t)
	w.restart()
	w.r.cached = confiding{}
	_, err := w.r.Reconcile(t.Context(), ctrl.Request{})
	if err == nil || strings.Contains(err.Error(), "correct-horse") {
		t.Errorf("error %v", err)
	}
}
