package main

import "testing"

// TestSlowMachine: a mutant that takes longer than is expected is not killed if the unchanged code takes as long at the moment.
func TestSlowMachine(t *testing.T) {
	s := of("gappy")
	sub := loaded(t, "gappy")
	if _, _, err := draw([]*subject{sub}, s); err != nil {
		t.Fatal(err)
	}
	l, err := newLab(s)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	if err := l.prepare(t.Context(), sub); err != nil {
		t.Fatal(err)
	}
	l.patience, sub.startup = 0, 0
	clear(sub.took) // as if it had taken no time at all
	tried := 0
	for _, m := range sub.drawn {
		if m.function() != "Apply" || len(m.covered) == 0 {
			continue
		}
		tried++
		if r := l.try(t.Context(), m); r.killed {
			t.Errorf("%s was killed: %s", m, r.by)
		}
	}
	if tried == 0 {
		t.Error("there is nothing to try")
	}
}
