package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// TestTour: every step holds.
func TestTour(t *testing.T) {
	ctrllog.SetLogger(logr.Discard())
	var out bytes.Buffer
	if code := exit(&out, newTour(&out, patience).run(t.Context())); code != 0 || !strings.HasSuffix(out.String(), "Every step held.\n") {
		t.Errorf("exit code %d:\n%s", code, out.String())
	}
}

// TestSabotage: a step that does not hold ends the tour with another exit code than 0.
func TestSabotage(t *testing.T) {
	ctrllog.SetLogger(logr.Discard())
	var out bytes.Buffer
	tour := newTour(&out, 20*time.Second)
	tour.before = func(step int) {
		if step == 1 {
			tour.patience = 2 * time.Second
			tour.stop() // nobody looks at the configuration any more
		}
	}
	if code := exit(&out, tour.run(t.Context())); code != 1 || !strings.Contains(out.String(), "step 2 did not hold") {
		t.Errorf("exit code %d:\n%s", code, out.String())
	}
}
