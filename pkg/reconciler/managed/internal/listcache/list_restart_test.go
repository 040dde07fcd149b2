package listcache

import (
	"container/heap"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"
)

// TestRestart verifies that healthy objects share a list after a restart, whenever in a round it happens. The first
// object, which knows of no others, is observed at any time; a list that it makes must not replace that of the next
// round, or all objects aligned to that would be observed individually, within seconds.
func TestRestart(t *testing.T) {
	const (
		objects = 1000
		rounds  = 5
	)
	for since := time.Duration(0); since < round; since += round / 40 {
		s := &restarted{t: t, now: begin.Add(since), random: rand.New(rand.NewPCG(1, uint64(since)))}
		s.cache = New(round, fresh, s.now)
		for i := range objects {
			p := NewMember(Key{"default", strconv.Itoa(i)})
			s.places = append(s.places, p)
			// They are read one after the other, which takes a while.
			s.turns = append(s.turns, turn{at: s.now.Add(time.Duration(i) * round / 6 / objects), of: p})
		}
		s.until(s.now.Add(rounds * round))
		if s.alone > 3 || s.listed < (rounds-1)*objects || s.lists > rounds+2 {
			t.Errorf("begun %s after a round: %d looks singly, %d at %d lists, want next to all at a list in each of %d rounds",
				since, s.alone, s.listed, s.lists, rounds)
		}
	}
}

// A restarted process observes objects at the times that the cache returns.
type restarted struct {
	t      *testing.T
	cache  *Cache
	now    time.Time
	random *rand.Rand
	places []*Member
	turns  turns
	known  map[*Member]bool // objects with an aligned time

	alone, listed, lists int
}

func (s *restarted) until(end time.Time) {
	s.known = map[*Member]bool{}
	for heap.Init(&s.turns); s.turns[0].at.Before(end); {
		next := heap.Pop(&s.turns).(turn)
		s.now = next.at
		heap.Push(&s.turns, turn{at: s.look(next.of), of: next.of})
	}
}

// look returns when to observe the object again.
func (s *restarted) look(p *Member) time.Time {
	s.cache.Join(p, "line", "", "x-"+p.key.Name)
	tolerance := round / 5
	if !s.known[p] {
		s.known[p], tolerance = true, 0
	} else {
		c := s.cache.Lookup(p, s.now)
		if c.Answer == List {
			s.made(c.Listing)
			c = s.cache.Lookup(p, s.now)
		}
		switch c.Answer {
		case Listed:
			s.listed++
		case Alone:
			s.alone++
		default:
			s.t.Fatalf("Consult() = %+v", c)
		}
		s.cache.Touched(p, s.now)
	}
	at, ok := s.cache.AlignPoll("line", s.now, s.now.Add(round), tolerance, s.random.Float64())
	if !ok {
		at = s.now.Add(time.Duration(s.random.Float64() * float64(round)))
	}

	return at
}

func (s *restarted) made(list *Listing) {
	s.lists++
	for _, p := range s.places {
		list.Add("x-"+p.key.Name, p)
	}
	list.Advance("", s.now)
	list.Return()
}

// A turn is when an object is observed.
type turn struct {
	at time.Time
	of *Member
}

type turns []turn

func (t turns) Len() int           { return len(t) }
func (t turns) Less(i, j int) bool { return t[i].at.Before(t[j].at) }
func (t turns) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }
func (t *turns) Push(x any)        { *t = append(*t, x.(turn)) }

func (t *turns) Pop() any {
	last := (*t)[len(*t)-1]
	*t = (*t)[:len(*t)-1]

	return last
}
