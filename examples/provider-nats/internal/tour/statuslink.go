package tour

import (
	"bytes"
	"regexp"
	"sync"
)

// linkOfPage matches the one-time link of the status page in the log of the provider.
var linkOfPage = regexp.MustCompile(`http://[0-9.:]+/login\?token=[0-9a-f]{32}`)

// A statusLink finds the last link of the status page in what is written to it. The zero value has none.
type statusLink struct {
	mu   sync.Mutex
	line []byte // that is not complete yet
	last string
}

// Write looks for a link in each complete line.
func (l *statusLink) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()

	l.line = append(l.line, b...)
	end := bytes.LastIndexByte(l.line, '\n')

	for _, link := range linkOfPage.FindAll(l.line[:end+1], -1) {
		l.last = string(link)
	}

	l.line = bytes.Clone(l.line[end+1:])

	return len(b), nil
}

// String returns the last link, or "".
func (l *statusLink) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.last
}

// StatusPage returns a line that says how to open the status page of the provider that the tour leaves running.
func (t *Tour) StatusPage() []string {
	link := t.page.String()
	if link == "" {
		return nil
	}

	return []string{"# The status page of the provider, to be opened once within 10 minutes:", "# " + link}
}
