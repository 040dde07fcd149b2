// Package harbour talks to the office of a harbour.
package harbour

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
)

// A Berth is one as the harbour office has it.
type Berth struct {
	Name   string `json:"name"`
	Metres int32  `json:"metres"`
	Power  bool   `json:"power"`
	Note   string `json:"note"`           // anything the owner wants to remember
	Ship   string `json:"ship,omitempty"` // who lies there; the office says so
}

// What the office answers when it does not do what it is asked.
var (
	ErrNotFound = errors.New("there is no such berth")
	ErrTaken    = errors.New("there is a berth of that name already")
	ErrRefused  = errors.New("the harbour does not have such a berth to give")

	// ErrUnavailable says nothing about a berth: the office could not be asked.
	ErrUnavailable = errors.New("the harbour office does not answer")
)

// maxBody is how much of an answer is read, in bytes.
const maxBody = 1 << 20

// A Client of the office. It may be used concurrently.
type Client struct {
	URL   string
	Token string
}

// Get returns a berth.
func (c Client) Get(ctx context.Context, name string) (Berth, error) {
	var b Berth

	return b, c.call(ctx, http.MethodGet, "/berths/"+url.PathEscape(name), nil, &b)
}

// Create a berth.
func (c Client) Create(ctx context.Context, b Berth) error {
	return c.call(ctx, http.MethodPost, "/berths", b, nil)
}

// Update a berth.
func (c Client) Update(ctx context.Context, b Berth) error {
	return c.call(ctx, http.MethodPatch, "/berths/"+url.PathEscape(b.Name), b, nil)
}

// Delete a berth.
func (c Client) Delete(ctx context.Context, name string) error {
	return c.call(ctx, http.MethodDelete, "/berths/"+url.PathEscape(name), nil, nil)
}

func (c Client) call(ctx context.Context, method, path string, body, answer any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, c.URL+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+c.Token)
	// A redirect that is followed turns a POST into a GET, and takes the token elsewhere.
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer response.Body.Close()
	if err := explain(response); err != nil || answer == nil {
		return err
	}
	if !isJSON(response) {
		return fmt.Errorf("%w: what does is not JSON", ErrUnavailable)
	}

	return json.NewDecoder(io.LimitReader(response.Body, maxBody)).Decode(answer)
}

// explain says what an answer means. The office tells an error by the field "error", in
// JSON. What lacks that is the page of a proxy, or of whatever else is at the address: its
// 404 does not say that there is no such berth, and its text is not shown.
func explain(response *http.Response) error {
	var said struct {
		Error string `json:"error"`
	}
	code := response.StatusCode
	if code >= http.StatusMultipleChoices && isJSON(response) {
		_ = json.NewDecoder(io.LimitReader(response.Body, maxBody)).Decode(&said) // what is no JSON says nothing
	}
	switch {
	case code < http.StatusMultipleChoices:
		return nil
	case code < http.StatusBadRequest:
		return fmt.Errorf("%w: its address redirects (%d), which is not followed: give the address that it leads to", ErrUnavailable, code)
	case said.Error == "":
		return fmt.Errorf("%w: something else answers %d", ErrUnavailable, code)
	case code == http.StatusNotFound:
		return ErrNotFound
	case code == http.StatusConflict:
		return ErrTaken
	case code == http.StatusUnprocessableEntity:
		return ErrRefused
	default: // whether it was done is not known; a 408, too, may come after that
		return fmt.Errorf("the harbour answers %d: %.200s", code, said.Error)
	}
}

// isJSON tells whether an answer says that it is JSON, as all of the office's are.
func isJSON(response *http.Response) bool {
	media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))

	return media == "application/json"
}
