package sim_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/internal/sim"
	"github.com/moorage-dev/moorage/internal/sim/search"
)

// TestDoubts checks that creation passes in every class, and with every option, with any single doubt. With -doubts,
// TestSim does the same for all scenarios.
func TestDoubts(t *testing.T) {
	for _, class := range sim.Classes() {
		for name, every := range map[string]bool{"usual options": false, "every option": true} {
			t.Run(class+"/"+name, func(t *testing.T) {
				e := search.Explorer{
					Scenario: "create", Class: class, Depth: 1, Doubts: true,
					Run:   func(s sim.Schedule) sim.Result { return runWith(t, s, false, every) },
					Found: func(r sim.Result) { explain(t, r, every) },
				}
				if e.Explore(); e.Ran < 20 {
					t.Errorf("%d schedules ran", e.Ran)
				}
			})
		}
	}
}

// TestDoubtEffects checks that each doubt has its effect.
func TestDoubtEffects(t *testing.T) {
	for line, want := range map[string]struct{ reason, traced string }{
		"create/opaque Observe#2:strip": {"the record is taken, and restored",
			"is restored externalName=bucket-1"},
		"create/opaque Observe#2:strip-annotations": {"so are annotations alone",
			"is restored externalName=bucket-1"},
		"delete/named Connect#3:strip-finalizers": {"what is being deleted goes at once without its finalizer",
			`"first" not found`},
		"made-again/opaque Connect#4:outdate": {"the record of an earlier creation is reported, and the last one restored",
			"the annotations of an earlier creation were written to the object"},
		"create/token patch/status#1:outdate": {"so is that of the same before it ended",
			"is restored externalName=bucket-1"},
		"create/named patch#1:unserved": {"a page is an error of the request",
			"is there, although a write of it is answered with not-found"},
		"create/named patch#1:unserved-kind": {"an answer about the kind names no object",
			"the server could not find the requested resource"},
		"create/named patch#1:unserved-forbidden": {"a page of another code", "forbidden"},
		"create/named patch#1:unserved-gateway":   {"a page of another code", "answered by another"},
		"create/opaque patch#1:unserved-after": {"a page after a write does not say that the object is gone",
			"is there, although a write of it is answered with not-found"},
		"create/opaque patch#1:unserved-forbidden-after": {
			"nor that nothing was written: the next write meets a newer version",
			"patch/status#1: Operation cannot be fulfilled"},
		"create/opaque patch#1:dropped-annotations": {"an intent is not stored whole", "did not store annotation"},
		"create/named patch#1:dropped-finalizers":   {"a finalizer is not stored", "did not store finalizer"},
		"create/named Create#1:dropped-status": {"a status is not stored",
			"The API server drops fields of the status"},
		"create/opaque Create#1:refused": {"a result is refused, and written later",
			"Stored how a creation ended that could not be stored before"},
		"create/opaque Create#1:refused-size": {"so it is when it is too large",
			"Stored how a creation ended that could not be stored before"},
		"create/opaque Create#1:refused-access": {"so it is when it is forbidden",
			"Stored how a creation ended that could not be stored before"},
		"create/opaque Observe#1:panics": {"a panic is reported on the object", "observe failed: panic: "},
		"create/opaque Create#1:panics-after": {"the result of a panic is unknown",
			"cannot determine creation result"},
		"update/opaque Observe#3:absent-live": {"a first absence is doubted", "AwaitExistence"},
		"create/opaque patch/status#1:rewound(2)": {"a process that lives writes back what the restore took",
			"records of creations that it had forgotten were written back kind=Bucket objects=1"},
		"create/opaque patch/status#1:rewound(9)": {"the resource of an object that is not in the backup is reported",
			"An external resource may be left over"},
		"create/named Observe#1:deaf": {"a call that does not return is reported on its object by another goroutine",
			"A call does not end although its context has"},
		"create/opaque Create#1:deaf-after": {"what a call did that never returned is not known",
			"cannot determine creation result"},
		"create/opaque Create#1:deaf-after(2m)": {"what it answered late is stored",
			"Successfully requested creation of external resource"},
		"create/opaque patch#1:deaf-after(2m)": {"a request that is answered late is one that failed",
			"context deadline exceeded"},
		"replace/named patch#1:relist(3m)": {"an object that was deleted and created anew meanwhile is one update",
			"a list has first, which is "},
		"delete/named patch#2:relist": {"a deletion is reported with the last known version",
			"a list does not have first any more"},
		"create/named Connect#1:relist": {"an unchanged object is reported, too",
			"a list has first of version"},
		"create/opaque get#2:rewound-down(2)": {
			"a process that begins reads what was restored, an attempt without its result",
			"cannot determine creation result"},
	} {
		s, err := sim.ParseSchedule(line)
		if err != nil {
			t.Fatal(err)
		}
		r := run(t, s, true)
		if !strings.Contains(strings.Join(r.Trace, "\n"), want.traced) {
			t.Errorf("%s (%s): %q is not in the trace:\n%s", line, want.reason, want.traced,
				strings.Join(r.Trace, "\n"))
		}
		for _, v := range r.Violations {
			t.Errorf("%s: %s: %s", line, v.Property, v.Text)
		}
	}
}

// TestLateReadsAreCounted checks that external changes by a process that has not read the last change of a user are
// counted, and excuse nothing: it changes nothing more once it has read that.
func TestLateReadsAreCounted(t *testing.T) {
	for line, want := range map[string][]sim.Kind{
		"policy/named Connect#7:stale": {sim.Stale},
		"policy/named Connect#7:crash": nil,
	} {
		s, err := sim.ParseSchedule(line)
		if err != nil {
			t.Fatal(err)
		}
		r := run(t, s, false)
		if !slices.Equal(r.Late, want) || len(r.Excused) > 0 || len(r.Violations) > 0 {
			t.Errorf("%s: read late because of %v, want %v; excused %v; violations: %v", line, r.Late, want,
				r.Excused, r.Violations)
		}
	}
}

// TestExcusesAreCounted checks that a replace that removes what is known nowhere else excuses a violation, is counted,
// and excuses nothing else.
func TestExcusesAreCounted(t *testing.T) {
	for line, want := range map[string][]sim.Kind{
		"delete-during-create/named Create#1:strip":       nil,
		"create/opaque Observe#2:strip":                   nil,
		"made-again/opaque Connect#4:outdate":             nil,
		"create/opaque patch/status#1:rewound(2)":         nil,
		"create/named get#2:rewound(3)":                   nil,
		"create/opaque patch#2:rewound-down(2)":           {sim.RewoundDown},
		"create/named patch/status#1:rewound-down(2)":     nil,
		"recover/opaque Connect#2:strip":                  nil,
		"recover/opaque Create#1:strip":                   {sim.Strip},
		"recover/opaque Connect#2:strip-annotations":      nil,
		"delete/named Connect#3:strip-finalizers":         nil,
		"delete-during-create/named patch/status#2:strip": nil,

		// where the same token leads to the same resource, each process makes the same first one
		"create/token Create#1:strip patch#2:crash": nil,
		"create/token patch#2:rewound-down(2)":      nil,
		// where it can be looked for, each process looks for what the first one created
		"create/findable Create#1:strip patch#2:crash":                nil,
		"create/findable patch#2:rewound-down(2)":                     nil,
		"create/findable Create#1:crash-after Observe#2:rewound-down": nil,
		"recover/findable Create#1:strip":                             nil,
		"recover/findable Create#1:strip-annotations get#2:delete":    nil,
		"slow-create/findable get#4:strip get#5:crash":                nil,
		// but not for what another created after that, or of an object that is gone before it is read
		"made-again/findable Create#2:strip patch#4:crash": {sim.Strip},
		"create/findable get#2:strip patch#3:delete":       {sim.Strip},
		// versions come again after a restore, and are no lock
		"made-again/opaque get#3:rewound Connect#3:strip": nil,
		"made-again/opaque get#3:strip Connect#3:rewound": nil,
		"rename/named get#3:rewound patch#2:edit":         {sim.Rewound},
		// a process deletes what is not being deleted any more
		"rename/named Connect#2:delete get#3:rewound":    {sim.Rewound},
		"rename/findable Connect#2:delete get#3:rewound": {sim.Rewound},
		// a manifest has the name of what is gone
		"made-again/opaque Create#1:deaf-after get#5:strip": nil,
		// a name that is stored nowhere else is removed, and the record stays
		"slow-create/opaque patch#2:crash-after get#2:strip-one": nil, // it is blocked, and its user knows the name
		// a finalizer is put back, and not stored
		"replace/findable Create#1:strip patch#2:dropped-finalizers": {sim.DroppedFinalizers},
	} {
		s, err := sim.ParseSchedule(line)
		if err != nil {
			t.Fatal(err)
		}
		r := run(t, s, false)
		if !slices.Equal(r.Excused, want) || len(r.Violations) > 0 {
			t.Errorf("%s: excused %v, want %v; violations: %v", line, r.Excused, want, r.Violations)
		}
	}
}
