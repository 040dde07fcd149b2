package controller

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

const (
	// stormWorkers and callLatency allow two hundred passes per second.
	stormWorkers = 10
	callLatency  = 50 * time.Millisecond
)

// load is a controller with a backlog of polls and changes of users.
type load struct {
	q    *queue[int]
	poll time.Duration

	mu      sync.Mutex
	changed map[int]time.Time // changes that users wait for
	waited  []time.Duration   // until it was served
	seen    []time.Time       // the last pass of each object
	oldest  time.Duration
}

func newLoad(objects int, poll time.Duration) *load {
	return &load{
		q:       newQueue("", workqueue.NewTypedItemExponentialFailureRateLimiter[int](time.Second, time.Minute), nil),
		poll:    poll,
		changed: map[int]time.Time{},
		seen:    make([]time.Time, objects),
	}
}

// run polls for a while, changes random objects at random times with this rate, and measures
// from when all objects were polled twice.
func (s *load) run(length time.Duration, perSecond float64) {
	random := rand.New(rand.NewPCG(1, 2))
	now := s.q.clock.Now
	for i := range s.seen {
		s.seen[i] = now()
		poll := PriorityPoll
		s.q.AddWithOpts(priorityqueue.AddOpts{
			After: time.Duration(random.Float64() * float64(s.poll)), Priority: &poll,
		}, i)
	}
	warm := now().Add(length / 3)
	end := now().Add(length)
	var workers sync.WaitGroup
	for range stormWorkers {
		workers.Go(func() {
			for s.work(warm) {
			}
		})
	}
	for now().Before(end) {
		<-time.After(time.Duration(random.ExpFloat64() / perSecond * float64(time.Second)))
		i := random.IntN(len(s.seen))
		s.mu.Lock()
		if _, already := s.changed[i]; !already {
			s.changed[i] = now()
		}
		s.mu.Unlock()
		s.q.Add(i)
	}
	s.mu.Lock()
	for _, at := range s.seen { // an object that has not been served yet counts as well
		s.oldest = max(s.oldest, now().Sub(at))
	}
	for _, since := range s.changed {
		s.waited = append(s.waited, now().Sub(since))
	}
	s.mu.Unlock()
	s.q.ShutDown()
	workers.Wait()
}

// work processes one item.
func (s *load) work(warm time.Time) bool {
	i, shutdown := s.q.Get()
	if shutdown {
		return false
	}
	s.mu.Lock()
	since, user := s.changed[i]
	delete(s.changed, i)
	s.mu.Unlock()

	<-time.After(callLatency)

	now := s.q.clock.Now()
	s.mu.Lock()
	if now.After(warm) {
		s.oldest = max(s.oldest, now.Sub(s.seen[i]))
		if user {
			s.waited = append(s.waited, now.Sub(since))
		}
	}
	s.seen[i] = now
	s.mu.Unlock()

	poll := PriorityPoll
	s.q.Forget(i)
	s.q.AddWithOpts(priorityqueue.AddOpts{After: s.poll, Priority: &poll}, i)
	s.q.Done(i)

	return true
}

// TestUserLatencyUnderOverload has twice as many polls as the workers can process. A change of
// a user needs one call; before that a worker has to become free, and one in ten workers
// takes a poll first.
func TestUserLatencyUnderOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLoad(2000, 5*time.Second)
		s.run(2*time.Minute, 5)

		slices.Sort(s.waited)
		p99 := s.waited[len(s.waited)*99/100]
		if len(s.waited) < 300 || p99 > 2*callLatency {
			t.Errorf("the 99th percentile of %d changes is %s, want less than two calls of %s", len(s.waited), p99,
				callLatency)
		}
	})
}

// TestPollsContinueUnderLoad has polls for half of the workers' capacity, and changes of users
// for the other half.
func TestPollsContinueUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		poll := 50 * time.Second // of five thousand objects: a hundred per second
		s := newLoad(5000, poll)
		s.run(4*time.Minute, 100)

		if s.oldest > 2*poll {
			t.Errorf("an object was not polled for %s, want less than twice %s", s.oldest, poll)
		}
		slices.Sort(s.waited)
		if p99 := s.waited[len(s.waited)*99/100]; p99 > 2*callLatency {
			t.Errorf("the 99th percentile of %d changes is %s, want less than two calls of %s", len(s.waited), p99,
				callLatency)
		}
	})
}
