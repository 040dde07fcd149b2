package managed

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// TestLateConnectionDetailsAreIgnored verifies that details that are passed after Create has returned are ignored.
func TestLateConnectionDetailsAreIgnored(t *testing.T) {
	var d createdDetails
	d.add(ConnectionDetails{"key": []byte("first")})
	taken := d.take()
	d.add(ConnectionDetails{"key": []byte("late"), "other": []byte("late")})
	if diff := cmp.Diff(ConnectionDetails{"key": []byte("first")}, taken); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if !d.mu.TryLock() {
		t.Error("who tells it late holds up the next")
	}
}

// A preparer is a publisher that may refuse before Create is called.
type preparer struct{ err error }

func (p preparer) PrepareConnection(context.Context, resource.Managed) error { return p.err }

func (p preparer) PublishConnection(context.Context, resource.Managed, ConnectionDetails) (bool, error) {
	return false, nil
}

// TestARefusedPublicationLeavesNoTrace verifies that an object whose details could not be published gets no pending
// annotation.
func TestARefusedPublicationLeavesNoTrace(t *testing.T) {
	boom := errors.New("boom")
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"it may be published": {nil, detailsPending},
		"it is refused":       {boom, ""},
	} {
		p := endingPass(WithCreationConnectionDetails(), WithConnectionPublisher(preparer{tc.err}))
		p.r.telemetry = p.r.newTelemetry()
		if err := p.markDetailsPending(t.Context()); !errors.Is(err, tc.err) {
			t.Errorf("%s: error %v", name, err)
		}
		if got := p.mg.GetAnnotations()[meta.AnnotationKeyCreationDetails]; got != tc.want {
			t.Errorf("%s: the object says %q", name, got)
		}
	}
}

// TestLaterConnectionDetailsReplaceEarlierOnes verifies that later details replace earlier ones, but an empty value
// replaces nothing.
func TestLaterConnectionDetailsReplaceEarlierOnes(t *testing.T) {
	for name, tc := range map[string]struct{ before, later, want ConnectionDetails }{
		"Another value": {ConnectionDetails{"key": []byte("old")}, ConnectionDetails{"key": []byte("new")},
			ConnectionDetails{"key": []byte("new")}},
		"One byte": {ConnectionDetails{"key": []byte("o")}, ConnectionDetails{"key": []byte("n")},
			ConnectionDetails{"key": []byte("n")}},
		"Nothing": {ConnectionDetails{"key": []byte("o")}, ConnectionDetails{"key": {}},
			ConnectionDetails{"key": []byte("o")}},
		"After nothing": {ConnectionDetails{"key": {}}, ConnectionDetails{"key": []byte("n")},
			ConnectionDetails{"key": []byte("n")}},
		"The first": {nil, ConnectionDetails{"key": {}}, ConnectionDetails{"key": {}}},
		"Another key": {ConnectionDetails{"key": []byte("o")}, ConnectionDetails{"other": []byte("n")},
			ConnectionDetails{"key": []byte("o"), "other": []byte("n")}},
		"None": {nil, nil, nil},
	} {
		if diff := cmp.Diff(tc.want, overlaid(tc.before, tc.later)); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", name, diff)
		}
	}
}

// A choosy publisher says for which objects it publishes anything.
type choosy struct {
	preparer

	publishes bool
}

func (p choosy) Publishes(resource.Managed) bool { return p.publishes }

// A describedObject names a Secret for its connection details.
type describedObject struct {
	fake.Managed

	to string
}

func (o *describedObject) GetWriteConnectionSecretToReference() *commonv1.LocalSecretReference {
	return &commonv1.LocalSecretReference{Name: o.to}
}

// TestWhetherDetailsGoAnywhere verifies that details go to the named Secret or to a publisher, and those of a
// deleted object nowhere.
func TestWhetherDetailsGoAnywhere(t *testing.T) {
	for name, tc := range map[string]struct {
		publisher ConnectionPublisher
		to        string
		want      bool
	}{
		"no Secret is named":             {nil, "", false},
		"a Secret is named":              {nil, "login", true},
		"a publisher":                    {preparer{}, "", true},
		"a publisher of this object":     {choosy{publishes: true}, "", true},
		"a publisher of others":          {choosy{}, "", false},
		"of others, and it has a Secret": {choosy{}, "login", false},
	} {
		for _, deleted := range []bool{false, true} {
			mg := &describedObject{to: tc.to}
			if deleted {
				mg.SetDeletionTimestamp(&metav1.Time{Time: noon})
			}
			if got := passOf(mg, &objectState{},
				WithConnectionPublisher(tc.publisher)).publishes(); got != (tc.want && !deleted) {
				t.Errorf("%s, deleted %t: %t", name, deleted, got)
			}
		}
	}
}

// TestConnectionDetailsOfCreateAreRedacted verifies that details that Create returned are redacted in its pass and
// in later ones.
func TestConnectionDetailsOfCreateAreRedacted(t *testing.T) {
	p := endingPass()
	boom := errors.New("refused: correct horse battery staple")
	if text := p.redact(boom).Error(); text != boom.Error() {
		t.Errorf("before it is known: %q", text)
	}
	p.deliver(t.Context(), ConnectionDetails{"key": []byte("correct horse battery staple")}, nil)
	later := endingPass()
	later.state = p.state
	for name, p := range map[string]*pass{"this pass": p, "a later one": later} {
		if text := p.redact(boom).Error(); strings.Contains(text, "correct horse") {
			t.Errorf("%s: %q", name, text)
		}
	}
}
