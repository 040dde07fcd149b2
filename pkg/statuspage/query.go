package statuspage

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Limits of what a page shows.
const (
	pageSize       = 100 // objects
	maxFields      = 8   // differences of an object
	maxText        = 512 // bytes of a text
	maxFilter      = 128 // bytes of the text of a filter
	maxConnections = 100
	maxGroups      = 20
	maxPages       = 1 << 20
)

// Values of the filter by state that are not a state.
const (
	notWell   = "" // the default
	allStates = "All"
)

// A query is what the address of a page asks for.
type query struct {
	text  string // in lower case
	state string
	page  int // from 1
}

// parseQuery returns what an address asks for. A value that is not valid counts as the default.
func parseQuery(v url.Values) query {
	q := query{text: strings.ToLower(strings.TrimSpace(v.Get("q"))), state: v.Get("state"), page: 1}
	q.text = q.text[:min(len(q.text), maxFilter)]
	if q.state != allStates && !slices.Contains(stateNames[:], q.state) {
		q.state = notWell
	}
	if n, err := strconv.Atoi(v.Get("page")); err == nil && n >= 1 && n <= maxPages {
		q.page = n
	}

	return q
}

// link returns the address of a page of the same objects.
func (q query) link(page int) string {
	v := url.Values{}
	if q.text != "" {
		v.Set("q", q.text)
	}
	if q.state != notWell {
		v.Set("state", q.state)
	}
	if page > 1 {
		v.Set("page", strconv.Itoa(page))
	}
	if len(v) == 0 {
		return "/"
	}

	return "/?" + v.Encode()
}

// matches reports whether the page shows an object of a fleet. The filter compares the redacted texts, so that it does
// not answer questions about a secret.
func (q query) matches(f *fleet, o object) bool {
	switch q.state {
	case allStates:
	case notWell:
		if o.state == well {
			return false
		}
	default:
		if o.state.String() != q.state {
			return false
		}
	}
	if q.text == "" {
		return true
	}
	for _, text := range []string{
		f.kinds[o.kind].name, o.mg.GetNamespace(), o.mg.GetName(), string(o.cause.Reason),
	} {
		if strings.Contains(strings.ToLower(text), q.text) && strings.Contains(strings.ToLower(shown(text)), q.text) {
			return true
		}
	}

	return false
}
