package xp_test

import (
	"strings"
	"testing"
	"time"
)

// TestRollbackWithoutTheCommand lets Moorage fail to create, or create, and the runtime of before work on the objects
// then without moorage migrate objects --back-to: asked before Moorage comes back, the command lists the objects
// that runtime has created something for, and changes nothing of them. Answered, they get no second resource.
func TestRollbackWithoutTheCommand(t *testing.T) {
	bin := programs(t)

	for _, o := range origins() {
		if o.crossplane() && o.assign {
			t.Run(o.name, func(t *testing.T) { rollBack(t, o, bin) })
		}
	}
}

func rollBack(t *testing.T, o origin, bin string) {
	w := newWorld(t, o, bin)

	for _, kind := range w.configs {
		if err := w.kube.Create(t.Context(), w.blank(kind, "main")); err != nil {
			t.Fatal(err)
		}
	}

	w.refuse["refused"] = true

	for _, name := range []string{"refused", "made", "left"} {
		w.put(name, &left{spec: w.ready(name).spec})
	}

	w.put("left-before", w.ready("left-before"))
	w.migrate()
	w.clock.SetTime(w.clock.Now().Add(-time.Hour)) // the runtime of before writes the time of the machine
	w.start()
	w.settle("refused", "made", "left-before")
	clear(w.refuse)

	was := &former{world: w}
	was.run()

	before := w.all(w.kind)
	questions := w.migrate()

	// It has created what Moorage could not create, and again what Moorage has created: it does not know its name.
	for name, says := range map[string]string{
		"refused": "krateo.io/external-name is not set although Moorage has kept the object",
		"made":    "which the runtime before created later than the last mark of Moorage",
	} {
		if !strings.Contains(questions[name], says) ||
			w.get(w.kind, name).GetResourceVersion() != before[name].GetResourceVersion() {
			t.Errorf("%s: the question is %q, and is changed from\n%v to\n%v", name, questions[name], before[name],
				w.get(w.kind, name))
		}

		external := before[name].GetAnnotations()["crossplane.io/external-name"]
		w.patch(w.kind, name, `{"metadata":{"annotations":{"krateo.io/external-name":"`+external+`"}}}`)
	}

	if len(questions) != 2 {
		t.Errorf("the questions are %v", questions)
	}

	if questions := w.migrate(); len(questions) > 0 {
		t.Errorf("answered, the questions are %v", questions)
	}

	created := map[string]int{"refused": 1, "made": 2, "left": 1, "left-before": 0}

	w.start()
	w.settle(sorted(created)...)

	for name, want := range created {
		if says := condition(w.get(w.kind, name), "Synced"); w.created[name] != want ||
			!strings.HasPrefix(says, "True/") {
			t.Errorf("%s: created %d, Synced is %s", name, w.created[name], says)
		}
	}
}

// TestRollbackAfterAQuestion: the user has answered a question about a creation that the runtime of before had begun,
// and Moorage has created the resource. It is lost, that runtime begins to create another without the command, and
// ends in between: the command reports the object, and does not change it.
func TestRollbackAfterAQuestion(t *testing.T) {
	bin := programs(t)

	for _, o := range origins() {
		if o.crossplane() && o.assign {
			t.Run(o.name, func(t *testing.T) { rollBackAfterAQuestion(t, o, bin) })
		}
	}
}

func rollBackAfterAQuestion(t *testing.T, o origin, bin string) {
	w := newWorld(t, o, bin)

	for _, kind := range w.configs {
		if err := w.kube.Create(t.Context(), w.blank(kind, "main")); err != nil {
			t.Fatal(err)
		}
	}

	begun := w.ready("begun")
	states["creating-blank"].left(w, begun)
	w.put("begun", begun)
	w.migrate()
	w.clock.SetTime(time.Now().Add(-time.Hour)) // the runtime of before writes the time of the machine
	w.start()
	w.settle("begun")
	w.unmark("begun")
	w.settle("begun")

	if reported := w.migrate(); w.created["begun"] != 1 || len(reported) > 0 {
		t.Fatalf("created %d, reported %v", w.created["begun"], reported)
	}

	delete(w.things, w.get(w.kind, "begun").GetAnnotations()["krateo.io/external-name"])

	was := &former{world: w, refused: map[string]string{}}
	was.annotate("begun", map[string]string{"external-create-pending": time.Now().UTC().Format(time.RFC3339)})

	before := w.get(w.kind, "begun").GetResourceVersion()
	if reported := w.migrate(); !strings.Contains(reported["begun"], "has begun a creation since") ||
		w.get(w.kind, "begun").GetResourceVersion() != before {
		t.Errorf("reported %v, annotations %v", reported, w.get(w.kind, "begun").GetAnnotations())
	}
}
