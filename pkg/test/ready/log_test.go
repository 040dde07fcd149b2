package ready

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// TestLogKeepsTheLastLines keeps 40 lines, and drops those of a higher verbosity.
func TestLogKeepsTheLastLines(t *testing.T) {
	var log Log
	for i := range 50 {
		log.Logger().Info(fmt.Sprintf("line %d", i))
		log.Logger().V(1).Info("detail")
	}
	lines := log.Lines()
	if len(lines) != 40 || !strings.Contains(lines[0], "line 10") || !strings.Contains(lines[39], "line 49") {
		t.Errorf("want the lines 10 to 49, got %d: %q", len(lines), lines)
	}
}

// TestLogCountsErrors counts errors of reconcilers alone, by object, and only the same error in a row.
func TestLogCountsErrors(t *testing.T) {
	var log Log
	of := log.Logger().WithValues("controllerKind", "Disk", "name", "a", "namespace", "shop")
	of.Error(errors.New("no"), "Reconciler error")
	of.Error(errors.New("yes"), "Reconciler error")
	of.Error(errors.New("yes"), "Reconciler error")
	of.Error(errors.New("yes"), "Cannot do something else")
	of.Error(nil, "Reconciler error")
	if got := log.failure(object{"Disk", "shop", "a"}); got != (failure{"yes", 2}) {
		t.Errorf("the last error: %+v", got)
	}
	log.forget(object{"Disk", "shop", "a"})
	if got := log.failure(object{"Disk", "shop", "a"}); got != (failure{}) {
		t.Errorf("an error that was forgotten: %+v", got)
	}
}

// TestLogConcurrently writes and reads from several goroutines.
func TestLogConcurrently(t *testing.T) {
	var log Log
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			log.Logger().WithName("n").Error(errors.New("no"), "Reconciler error")
			_ = log.Lines()
		})
	}
	all.Wait()
	if got := log.failure(object{}).times; got != 4 || len(log.Lines()) != 4 {
		t.Errorf("4 errors are %d, in lines %q", got, log.Lines())
	}
}
