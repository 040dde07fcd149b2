package plan

import (
	"cmp"
	"context"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// A report has the plans, and what is known of all of them.
type report struct {
	provider    Provider
	reader      reader
	cluster     string
	kinds       int
	plans       []managed.Plan
	unvalidated int // manifests that the API server has not validated
	follows     map[managed.PlannedReferent]bool
	unread      []string // namespaces of which it is not known whether they exist

	how managed.Apply // how the manifests would be applied

	calls managed.PlanCalls
	began time.Time
	took  time.Duration
}

func newReport(p Provider, live reader, kinds int) *report {
	return &report{provider: p, reader: live, kinds: kinds, began: time.Now()}
}

// add adds a plan.
func (r *report) add(p managed.Plan) { r.plans = append(r.plans, p) }

// end completes the report when all plans are made.
func (r *report) end(ctx context.Context) {
	r.took = time.Since(r.began)
	if uid, err := managed.ClusterUID(ctx, r.reader); err == nil { // else the JSON does not have it
		r.cluster = string(uid)
	}
	r.sort()
	r.findFollowers()
}

// follow is what the table shows instead of an action for an object that follows others of the files.
const follow = "Follow"

// identity returns what identifies the object of a plan.
func identity(p managed.Plan) managed.PlannedReferent {
	return managed.PlannedReferent{Kind: p.Kind, Object: p.Object}
}

// findFollowers finds the objects that could not be planned and whose referents the files would create first. A
// referent may follow others itself.
func (r *report) findFollowers() {
	r.follows = map[managed.PlannedReferent]bool{}
	comes := map[managed.PlannedReferent]bool{}
	for _, p := range r.plans {
		comes[identity(p)] = p.Action == "Create"
	}
	for again := true; again; {
		again = false
		for _, p := range r.plans {
			if p.Err == nil || len(p.Referents) == 0 || r.follows[identity(p)] ||
				slices.ContainsFunc(p.Referents, func(of managed.PlannedReferent) bool { return !comes[of] }) {
				continue
			}
			r.follows[identity(p)], comes[identity(p)], again = true, true, true
		}
	}
}

// sort sorts the plans by kind, namespace and name.
func (r *report) sort() {
	slices.SortFunc(r.plans, func(a, b managed.Plan) int {
		return cmp.Or(cmp.Compare(a.Kind.Kind, b.Kind.Kind), cmp.Compare(a.Object.Namespace, b.Object.Namespace),
			cmp.Compare(a.Object.Name, b.Object.Name))
	})
}

// A summary counts plans.
type summary struct {
	Objects int `json:"objects"`
	AtRest  int `json:"atRest"`
	Create  int `json:"create"`
	Update  int `json:"update"`
	Delete  int `json:"delete"`

	// Immutable are the objects that differ only in fields that an update cannot change. They stay as they are.
	Immutable int `json:"immutable,omitempty"`

	// WaitForUser are the objects that a user has to look after. Other are those that differ but must not be updated,
	// that wait, or of which only metadata would be stored.
	WaitForUser int `json:"waitForUser"`
	Other       int `json:"other"`

	// Follow are the objects that could not be planned because other objects of the files would have to be created
	// first.
	Follow int `json:"follow,omitempty"`

	// Unknown are the objects that could not be planned.
	Unknown int `json:"unknown"`

	// NotValidated are the manifests that the API server has neither defaulted nor validated.
	NotValidated int `json:"notValidated,omitempty"`
}

// needsUser reports whether an action or admission waits for a user.
func needsUser(action string) bool {
	return slices.Contains([]string{"AskUser", "Reject", "ReportMissing", "ReportNotOwned"}, action)
}

// summary counts the plans.
func (r *report) summary() (s summary) {
	s.Objects, s.NotValidated = len(r.plans), r.unvalidated
	for _, p := range r.plans {
		switch {
		case r.follows[identity(p)]:
			s.Follow++
		case p.Err != nil:
			s.Unknown++
		case p.AtRest():
			s.AtRest++
		case p.Action == "Create":
			s.Create++
		case p.Immutable():
			s.Immutable++
		case p.Action == "Update":
			s.Update++
		case p.Action == "Delete":
			s.Delete++
		case needsUser(p.Action):
			s.WaitForUser++
		default:
			s.Other++
		}
	}

	return s
}

// exitCode returns the exit code of the plans.
func (r *report) exitCode() int {
	switch s := r.summary(); {
	case s.Unknown > 0:
		return ExitFailed
	case s.Create+s.Update+s.Delete > 0:
		return ExitChanges
	default:
		return ExitUnchanged
	}
}

// shown returns the plans to print: all, or those of objects that do not stay as they are.
func (r *report) shown(all bool) []managed.Plan {
	if all {
		return r.plans
	}

	return slices.DeleteFunc(slices.Clone(r.plans), func(p managed.Plan) bool { return p.Err == nil && p.AtRest() })
}

// print prints the plans.
func (r *report) print(out io.Writer, f flags) error {
	if f.output == outputJSON {
		return r.printJSON(out, f)
	}

	return r.printTable(out, f)
}

// kindNames returns the names of the kinds of a Planner.
func kindNames(p *managed.Planner) string {
	var names []string
	for _, kind := range p.Kinds() {
		names = append(names, kind.Kind)
	}

	return strings.Join(names, ", ")
}

// progressOn returns a function that shows the progress on a terminal, at most ten times a second. Without a terminal
// it shows nothing.
func progressOn(errs io.Writer) func(done, total int) {
	file, ok := errs.(*os.File)
	if !ok {
		return func(int, int) {}
	}
	info, err := file.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return func(int, int) {}
	}

	return progressTo(errs, time.Now)
}

// progressTo returns a function that writes the progress in one line, and removes the line at the end.
func progressTo(errs io.Writer, now func() time.Time) func(done, total int) {
	const often = 100 * time.Millisecond
	began := now()
	last := time.Time{}

	return func(done, total int) {
		at := now()
		if done < total && at.Sub(last) < often {
			return
		}
		last = at
		line := strconv.Itoa(done) + " objects planned, " + strconv.Itoa(total-done) + " left"
		if seconds := at.Sub(began).Seconds(); seconds >= 1 {
			line += ", " + strconv.Itoa(int(float64(done)/seconds)) + " per second"
		}
		if line = "\r\x1b[K" + line; done == total {
			line = "\r\x1b[K"
		}
		_, _ = io.WriteString(errs, line) // it is only for the eye
	}
}

// maxFields is the number of fields that a line of the table has, and maxValue the length of a value in it.
const (
	maxFields = 6
	maxValue  = 48
)

// fields returns what the table says of the fields of a plan, in one line.
func fields(p managed.Plan) string {
	var parts []string
	for _, d := range p.Differences[:min(len(p.Differences), maxFields)] {
		parts = append(parts, field(d))
	}
	if more := len(p.Differences) - len(parts) + p.MoreDifferences; more > 0 {
		parts = append(parts, "and "+strconv.Itoa(more)+" more")
	}
	text := strings.Join(parts, ", ")
	switch {
	case needsUser(p.Action):
		text += " (waits for a user)"
	case p.Err == nil && !p.Changes() && len(p.Writes) > 0:
		text += " (writes " + written(p.Writes) + ")"
	}

	return strings.TrimSpace(text)
}

// field returns the path of a field with its values.
func field(d commonv1.Difference) string {
	text := oneLine(d.Path)
	switch {
	case d.Sensitive:
		text += " (sensitive)"
	case d.Desired != "" || d.Observed != "":
		text += " " + value(d.Desired) + " <- " + value(d.Observed)
	}
	if d.Immutable {
		text += " (cannot be changed)"
	}

	return text
}

// value returns the JSON of a value for a cell.
func value(json string) string {
	// JSON escapes these for HTML
	unescaped := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&")
	if json == "" {
		return "none"
	}
	text := oneLine(unescaped.Replace(json))
	if v := []rune(text); len(v) > maxValue {
		return string(v[:maxValue]) + "..."
	}

	return text
}

// written returns the names of the fields that are written, and of other objects.
func written(writes []managed.PlannedWrite) string {
	var parts []string
	for _, w := range writes {
		if len(w.Fields) == 0 {
			parts = append(parts, w.Kind+" "+w.Name)
		}
		parts = append(parts, w.Fields...)
	}
	if more := len(parts) - maxFields; more > 0 {
		parts = append(parts[:maxFields], "and "+strconv.Itoa(more)+" more")
	}

	return oneLine(strings.Join(parts, ", "))
}
