package managed

import (
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/objectjson"

	"github.com/go-logr/logr/funcr"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// TestAnUnstorableStatusIsReportedOnce verifies that a status without stored conditions is reported by an event
// once, and again for another reason or after it was storable.
func TestAnUnstorableStatusIsReportedOnce(t *testing.T) {
	group := schema.GroupResource{Resource: "volumes"}
	notThere, unserved := kerrors.NewNotFound(group, "data"), kerrors.NewGenericServerResponse(404, "patch", group,
		"data", "page not found", 0, true)
	success := commonv1.ReconcileSuccess()
	cases := map[string]struct {
		reason  string
		err     error
		dropped int
		says    []commonv1.Condition // the object
		stored  []commonv1.Condition
		want    string // in the event; "": none
	}{
		"Written": {"all is well", nil, 0, []commonv1.Condition{success}, []commonv1.Condition{success}, ""},
		"Stored": {"something else was dropped", nil, 1, []commonv1.Condition{success},
			[]commonv1.Condition{success}, ""},
		"NotYet": {"it was not sent yet", nil, 0, []commonv1.Condition{success}, nil, ""},
		"Silent": {"there is nothing to say", nil, 1, nil, nil, ""},
		"Part": {"the kind lacks messages", nil, 1,
			[]commonv1.Condition{success, commonv1.Available().WithMessage("m")},
			[]commonv1.Condition{success, commonv1.Available()}, "does not store status.conditions[].message, because"},
		"Partly": {"one message was changed on its way", nil, 1,
			[]commonv1.Condition{success.WithMessage("m"), commonv1.Available().WithMessage("m")},
			[]commonv1.Condition{success, commonv1.Available().WithMessage("m")}, ""},
		"Dropped": {"the kind has no conditions", nil, 1, []commonv1.Condition{success}, nil,
			"has no field status.conditions"},
		"NoStatus":  {"the kind has no status", notThere, 0, nil, nil, `"data" not found`},
		"Unserved":  {"the kind is not served", unserved, 0, nil, nil, "could not find the requested resource"},
		"Transient": {"any other error passes", errors.New("boom"), 1, []commonv1.Condition{success}, nil, ""},
	}
	for name, tc := range cases {
		mg, newest := bearing(nil), bearing(nil)
		mg.SetConditions(tc.says...)
		newest.SetConditions(tc.stored...)
		p := passOf(mg, remembering(objectstate.Reports{Dropped: objectstate.Dropped{Times: tc.dropped}}))
		p.newest = newest
		p.r.of.Kind = "Volume"
		tell := func(err error, want int) {
			t.Helper()
			if p.warnUnwritableStatus(err); len(p.events) != want {
				t.Errorf("%s: %s: told %v, want %d events", name, tc.reason, p.events, want)
			}
		}
		reported := 0
		if tc.want != "" {
			reported = 1
		}
		tell(tc.err, reported)
		tell(tc.err, reported)
		if reported > 0 {
			e := p.events[0]
			if text := "cannot update managed resource status: "; e.Type != event.TypeWarning ||
				e.Reason != reasonCannotUpdateManaged ||
				!strings.HasPrefix(e.Message, text) || !strings.Contains(e.Message, tc.want) {
				t.Errorf("%s: told %+v", name, e)
			}
			tell(errors.New("boom"), 1)
			if p.state.LastStatusErr != "" {
				t.Errorf("%s: %q is remembered after it was not so", name, p.state.LastStatusErr)
			}
			tell(tc.err, 2)
		}
	}
}

// TestWhatAStatusCannotBeWrittenWithout verifies that NotFound for a status write that names the object means a
// missing status subresource, and that any other NotFound, such as of a namespace with the same name, is reported
// as it is.
func TestWhatAStatusCannotBeWrittenWithout(t *testing.T) {
	const kind, other = "the CustomResourceDefinition of the kind Volume lacks the subresource status: ",
		"the object is there, and something else that its status cannot be written without is not: "
	volumes, namespaces := schema.GroupResource{Group: "example.org",
		Resource: "volumes"}, schema.GroupResource{Resource: "namespaces"}
	cases := map[string]struct {
		reason    string
		namespace string
		answer    error
		want      string // before the answer
	}{
		"Object":        {"the object was read a moment ago", "apps", kerrors.NewNotFound(volumes, "data"), kind},
		"Namesake":      {"its namespace has the same name", "data", kerrors.NewNotFound(volumes, "data"), kind},
		"Namespace":     {"the namespace is gone", "apps", kerrors.NewNotFound(namespaces, "apps"), other},
		"NamespaceOfIt": {"and has the name of the object", "data", kerrors.NewNotFound(namespaces, "data"), other},
		"Else":          {"a webhook asks for its own", "apps", kerrors.NewNotFound(volumes, "quota"), other},
		"Nothing":       {"the answer names nothing", "apps", kerrors.NewNotFound(volumes, ""), ""},
	}
	for name, tc := range cases {
		p := passOf(bearing(nil), &objectState{})
		p.r.of.Kind = "Volume"
		p.mg.SetNamespace(tc.namespace)
		const of = "apps/data cannot be written"
		err := p.withoutStatus(errors.Wrap(tc.answer, of))
		if !strings.HasPrefix(err.Error(), tc.want) || !strings.HasSuffix(err.Error(), ": "+tc.answer.Error()) ||
			tc.want == "" && err.Error() != of+": "+tc.answer.Error() || !errors.Is(err, tc.answer) {
			t.Errorf("%s: %s: told %q, want %q", name, tc.reason, err, tc.want)
		}
		if named := strings.Contains(err.Error(), of); named != (tc.want != other) { // it is not what is not there
			t.Errorf("%s: %s: told of the object: %t: %q", name, tc.reason, named, err)
		}
	}
}

// TestPrunedFieldsAreLoggedOnce verifies that unknown status fields are logged once for all passes of a kind.
func TestPrunedFieldsAreLoggedOnce(t *testing.T) {
	var lines []string
	p := passOf(bearing(nil), &objectState{},
		WithLogger(logging.NewLogrLogger(funcr.New(func(_, args string) { lines = append(lines, args) },
			funcr.Options{}))))
	p.r.of.Kind, p.r.pruned = "Volume", &prunedFields{}
	desired := objectjson.Status{
		Fields:     map[string]any{"z": int64(1), "a": "x"},
		Conditions: []commonv1.Condition{commonv1.ReconcileSuccess()},
	}
	for range 2 {
		p.logPruned(desired, bearing(nil))
	}
	if len(lines) != 1 || !strings.Contains(lines[0], `"fields"="status.a, status.conditions, status.z"`) ||
		!strings.Contains(lines[0], `"kind"="Volume"`) {
		t.Errorf("said %q", lines)
	}
	stored := &fake.Managed{}
	stored.SetConditions(commonv1.ReconcileSuccess())
	stamped := commonv1.ReconcileSuccess()
	stamped.ObservedGeneration = 7
	lines, p.r.pruned = nil, &prunedFields{}
	if p.logPruned(objectjson.Status{Conditions: desired.Conditions}, stored); len(lines) != 0 {
		t.Errorf("of what was changed on its way it is said %q", lines)
	}
	if p.logPruned(objectjson.Status{Conditions: []commonv1.Condition{stamped}}, stored); len(lines) != 1 ||
		!strings.Contains(lines[0], `"fields"="status.conditions[].observedGeneration"`) {
		t.Errorf("of conditions without a stamp it is said %q", lines)
	}
	for what, image := range map[string]objectjson.Status{
		"conditions that are stored": desired, "none": {Fields: desired.Fields},
	} {
		lines, p.r.pruned = nil, &prunedFields{}
		if p.logPruned(image, stored); len(lines) != 1 || !strings.Contains(lines[0], `"fields"="status.a, status.z"`) {
			t.Errorf("of %s it is said %q", what, lines)
		}
	}
}
