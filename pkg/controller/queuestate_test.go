package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestQueueState: the queue counts items by class, and says when an item is due, until the item is handed out.
func TestQueueState(t *testing.T) {
	inBubble(t, func(t *testing.T, q *queue[string]) {
		var reader QueueReader[string] = q
		begin := time.Now()
		add(q, PriorityUser, "a")
		add(q, PriorityPoll, "b", "c")
		q.add(q.levelOf(PriorityErrorRetry), time.Minute, "d")

		want := []QueueClass{
			{Priority: PriorityUser, Due: 1}, {Priority: PriorityInProgress},
			{Priority: PriorityErrorRetry, Later: 1}, {Priority: PriorityPoll, Due: 2},
		}
		classes, processing := reader.Classes()
		if diff := cmp.Diff(want, classes); diff != "" || processing != 0 {
			t.Errorf("%d are processed; classes -want, +got:\n%s", processing, diff)
		}
		for item, after := range map[string]time.Duration{"a": 0, "c": 0, "d": time.Minute} {
			if at, ok := reader.DueAt(item); !ok || !at.Equal(begin.Add(after)) {
				t.Errorf("%s is due after %v, %t; want %v", item, at.Sub(begin), ok, after)
			}
		}

		if item, _, _ := q.GetWithPriority(); item != "a" {
			t.Fatalf("the queue handed out %s", item)
		}
		if _, ok := reader.DueAt("a"); ok {
			t.Error("an item that is processed is still due")
		}
		if classes, processing := reader.Classes(); processing != 1 || classes[0].Due != 0 {
			t.Errorf("%d are processed, %d are due", processing, classes[0].Due)
		}
		q.Done("a")
		if _, processing := reader.Classes(); processing != 0 {
			t.Errorf("%d are processed after Done", processing)
		}
	})
}
