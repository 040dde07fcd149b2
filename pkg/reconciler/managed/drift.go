package managed

import (
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	fielddiff "github.com/moorage-dev/moorage/pkg/difference"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/resource"
)

const (
	textUpdated = "Successfully requested update of external resource"

	// textRedacted is what a mask puts in place of a secret.
	textRedacted = "[REDACTED]"

	// maxDriftFields is how many differences a status has.
	maxDriftFields = 16

	// maxNames and maxNamesLen are how many paths of fields a message has, and how many bytes they have together.
	maxNames    = 8
	maxNamesLen = 512
)

// differences are the fields in which an observation differs from the spec, cleaned. Nil and the zero value have none.
type differences struct {
	fields  []commonv1.Difference
	more    int  // how many are not in fields
	drifted bool // others have changed the external resource since it was up to date
}

// acceptDifferences cleans the differences of an observation, once for all that report them. It writes them to the
// debug log. Differences of a resource of another owner are not kept.
func (p *creationRecord) acceptDifferences(notOwned bool) {
	o := &p.observation
	if !notOwned && len(o.Differences) > 0 {
		if p.differences == nil {
			p.differences = &differences{}
		}
		p.differences.fields, p.differences.more = fielddiff.Clean(o.Differences, p.mask())
	}
	o.Differences = nil
	switch {
	case !logging.DebugEnabled(p.r.log):
	case o.Diff != "":
		p.log().Debug("External resource differs from desired state", "diff", p.mask().String(o.Diff))
	case !p.differences.empty():
		p.log().Debug("External resource differs from desired state", "diff", p.differences.text())
	}
}

// empty reports whether there are no fields.
func (d *differences) empty() bool { return d == nil || len(d.fields) == 0 }

// names returns the paths of the first fields, for a message that changes only with them.
func (d *differences) names() string {
	var b strings.Builder
	shown := 0
	for _, f := range d.fields[:min(len(d.fields), maxNames)] {
		if shown > 0 && b.Len()+len(f.Path) > maxNamesLen {
			break
		}
		if shown++; shown > 1 {
			b.WriteString(", ")
		}
		b.WriteString(f.Path)
	}
	if left := len(d.fields) + d.more - shown; left > 0 {
		b.WriteString(" and " + strconv.Itoa(left) + " more")
	}

	return b.String()
}

// text returns one line for each field, with its values.
func (d *differences) text() string {
	lines := make([]string, 0, len(d.fields))
	for _, f := range d.fields {
		line := f.Path + ": sensitive"
		if !f.Sensitive {
			line = f.Path + ": desired " + orNone(f.Desired) + ", observed " + orNone(f.Observed)
		}
		lines = append(lines, line)
	}
	if d.more > 0 {
		lines = append(lines, strconv.Itoa(d.more)+" more")
	}

	return strings.Join(lines, "\n")
}

func orNone(value string) string {
	if value == "" {
		return "none"
	}

	return value
}

// updated returns what the event of an update says of the fields, and of who has changed them.
func (d *differences) updated() string {
	text := ""
	if !d.empty() {
		text = ": " + d.names()
	}
	if d != nil && d.drifted {
		text += " (changed by others)"
	}

	return text
}

// named returns a condition UpToDate whose message names the fields, if it is False.
func (d *differences) named(c commonv1.Condition) commonv1.Condition {
	if c.Status != metav1.ConditionFalse || d.empty() {
		return c
	}
	text := "differs in " + d.names()
	if c.Message != "" {
		text = c.Message + "; " + text
	}

	return c.WithMessage(text)
}

// setDrift records the differences in the status while UpToDate is False, and removes the record otherwise. An outcome
// that does not set UpToDate leaves the record unchanged as long as the condition is False, without values that have
// become known as secrets since.
func (p *creationRecord) setDrift(o outcome) {
	r, ok := p.mg.(resource.DriftReporter)
	if !ok {
		return
	}
	switch stored := r.GetDrift(); {
	case o.upToDate.Status == metav1.ConditionFalse:
		if drift := p.differences.drift(); !p.keepsDrift(stored, drift) {
			r.SetDrift(drift)
		}
	case stored == nil:
	case p.mg.GetCondition(commonv1.TypeUpToDate).Status != metav1.ConditionFalse:
		r.SetDrift(nil)
	default:
		if fields, merged := fielddiff.Clean(stored.Fields, p.mask()); !slices.Equal(fields, stored.Fields) {
			r.SetDrift(&commonv1.Drift{Fields: fields, More: stored.More + int32(merged)})
		}
	}
}

// drift returns the differences for a status, or nil if there are none.
func (d *differences) drift() *commonv1.Drift {
	if d.empty() {
		return nil
	}
	n := min(len(d.fields), maxDriftFields)

	return &commonv1.Drift{Fields: slices.Clone(d.fields[:n]), More: int32(len(d.fields) - n + d.more)}
}

// keepsDrift reports whether the stored differences stay, because only observed values have changed. Like a change of
// volatile fields, that is no reason to write the status until their interval is over. Stored differences do not stay
// if a value in them has become known as a secret since.
func (p *object) keepsDrift(stored, now *commonv1.Drift) bool {
	if stored == nil || now == nil || stored.More != now.More {
		return false
	}
	same := slices.EqualFunc(stored.Fields, now.Fields, func(a, b commonv1.Difference) bool {
		hides := strings.Count(b.Observed, textRedacted) > strings.Count(a.Observed, textRedacted)
		a.Observed, b.Observed = "", ""

		return a == b && !hides
	})
	if !same {
		return false
	}
	if fields, _ := fielddiff.Clean(stored.Fields, p.mask()); !slices.Equal(fields, stored.Fields) {
		return false
	}
	if p.state.VolatileWritten.IsZero() {
		p.state.VolatileWritten = p.now()
	}

	return p.r.volatileInterval <= 0 || p.now().Sub(p.state.VolatileWritten) < p.r.volatileInterval
}
