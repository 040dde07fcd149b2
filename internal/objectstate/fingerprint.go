package objectstate

import "time"

// Significant has the values of a record that can affect later decisions.
type Significant [30]uint64

// Significant returns the values of the record that can affect the decisions of a reconciler, without times and
// messages. Counters and times count only as zero or nonzero. The argument role is a function that maps a text, such as
// a name or the ID of an attempt, to a number for the meaning of the text. Significant does not call role for an empty
// text.
func (r *Record) Significant(role func(string) uint64) Significant {
	text := func(s string) uint64 {
		if s == "" {
			return 0
		}

		return role(s)
	}
	out := Significant{
		flag(r.Live), flag(r.PendingEcho), text(r.Seen.Mark), text(r.Seen.Name), text(r.Creation), flag(r.Since != 0),
	}
	if c := r.Cold; c != nil {
		uncalled := uint64(0)
		for _, intent := range c.Uncalled {
			uncalled += text(intent.Attempt)
		}
		copy(out[6:], []uint64{
			when(c.DeleteSent), flag(c.FinalizerRemoved), flag(c.Retained), text(c.Search), when(c.SearchSince),
			when(c.NotFoundSince), text(c.NotFoundName),
			text(c.Stop.Revision), when(c.Stop.Due), when(c.Stop.Until), flag(c.Published != none),
			text(c.PublishedAs), flag(c.Dropped.Change != none),
			uncalled, flag(len(c.Unwritten) > 0), text(c.Called.Attempt), text(c.Made.Mark), text(c.Made.Name),
			uint64(c.Unfound), text(c.Operation), text(c.Altered), flag(len(c.Undelivered) > 0), flag(c.Details != ""),
		})
	}
	if r.Backend != nil {
		out[len(out)-1] = text(*r.Backend)
	}

	return out
}

var none [32]byte

func flag(is bool) uint64 {
	if is {
		return 1
	}

	return 0
}

func when(t time.Time) uint64 { return flag(!t.IsZero()) }
