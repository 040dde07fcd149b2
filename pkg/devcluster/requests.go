package devcluster

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrNotAudited means that Cluster.Requests was called for a control plane that does not record its requests. Start the
// control plane with Options.Audit. Existing clusters and programs from EnvAssets never record requests.
var ErrNotAudited = errors.New("control plane does not note its requests")

// A Request is a request to which the API server has responded.
type Request struct {
	User        string // name of the user that sent the request
	Verb        string // get, list, watch, create, update, patch, delete, ...
	Group       string // API group; empty for the core group
	Resource    string // plural name; empty for a request without a resource, such as discovery
	Subresource string // such as status
	Namespace   string
	Name        string
	Code        int // HTTP status of the response
}

// Requests returns the requests of a user to which the API server has responded so far, in order. A watch is recorded
// when it ends. A request may be recorded a moment after its response was received, so callers that count requests must
// wait until no more requests are added. Requests returns ErrNotAudited if requests are not recorded.
func (c *Cluster) Requests(user string) ([]Request, error) {
	file, err := os.Open(filepath.Join(c.Dir, "audit.log"))
	if c.Dir == "" || errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotAudited
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the noted requests: %w", err)
	}
	defer file.Close()
	var requests []Request
	for lines := bufio.NewReader(file); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return requests, nil // the API server is still writing the last line
		}
		if r, err := parseAudit(line); err != nil {
			return nil, fmt.Errorf("cannot understand a noted request: %w", err)
		} else if r.User == user {
			requests = append(requests, r)
		}
	}
}

func parseAudit(line []byte) (Request, error) {
	var e struct {
		Verb string
		User struct{ Username string }
		// ObjectRef is empty for requests without a resource.
		ObjectRef struct {
			APIGroup, Resource, Subresource, Namespace, Name string
		}
		ResponseStatus struct{ Code int }
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return Request{}, err
	}
	o := e.ObjectRef
	return Request{
		User: e.User.Username, Verb: e.Verb, Group: o.APIGroup, Resource: o.Resource, Subresource: o.Subresource,
		Namespace: o.Namespace, Name: o.Name, Code: e.ResponseStatus.Code,
	}, nil
}
