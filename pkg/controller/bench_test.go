package controller

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// BenchmarkQueue compares the queue with the one that it wraps, with ten thousand objects that
// wait for their next poll.
func BenchmarkQueue(b *testing.B) {
	limiter := func() workqueue.TypedRateLimiter[reconcile.Request] {
		return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, time.Minute)
	}
	queues := map[string]func() priorityqueue.PriorityQueue[reconcile.Request]{
		"wrapped": func() priorityqueue.PriorityQueue[reconcile.Request] {
			return priorityqueue.New("", func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter = limiter() })
		},
		"own": func() priorityqueue.PriorityQueue[reconcile.Request] { return newQueue("", limiter(), nil) },
		"paced": func() priorityqueue.PriorityQueue[reconcile.Request] {
			return newQueue("", limiter(), rate.NewLimiter(1e9, 1e9))
		},
	}

	requests := make([]reconcile.Request, 10_000)
	for i := range requests {
		requests[i].Namespace, requests[i].Name = "default", fmt.Sprint(i)
	}
	for name, make := range queues {
		b.Run(name, func(b *testing.B) {
			q := make()
			defer q.ShutDown()
			poll := PriorityPoll
			q.AddWithOpts(priorityqueue.AddOpts{After: time.Hour, Priority: &poll}, requests...)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				q.Add(requests[i%len(requests)])
				item, _, _ := q.GetWithPriority()
				q.Forget(item)
				q.AddWithOpts(priorityqueue.AddOpts{After: time.Hour, Priority: &poll}, item)
				q.Done(item)
				i++
			}
		})
	}
}
