"""The gunicorn worker of this service: gthread, made safe to meet strangers.

gunicorn.conf.py names it. The only place that knows gunicorn. It replaces what gthread of gunicorn
27 does in nine places, each proven by tests/faults/test_http_garbage.py,
tests/faults/test_slow_clients.py,
tests/contract/test_abusive_clients.py or, for the last, tests/faults/test_early_stop.py:

- what is not HTTP gets HTML that repeats the bytes, and the log repeats them too (`refusals`);
- a malformed rest of a body, found after the answer was sent, draws a second answer;
- a body that breaks off or is malformed reaches the application as if it were whole, or as one of
  a dozen exceptions of gunicorn's (`whole_body`);
- a client that sends a request slowly, or half of it, holds a thread for as long as it likes, and
  so does one that does not read its answers (`receiving`, `sending`);
- a fresh connection that says nothing holds a thread for 5 s;
- clients that open as many connections as a process takes keep everybody else out, for as long
  as they like to hold them (`worker`);
- closing waits up to 2 s for the client, in the one thread that accepts connections (`closing`);
- Ctrl-C takes a lock that the interrupted code may hold, and then nothing moves for 30 s;
- a signal that reaches a worker just after its fork is lost, and a stop lasts 30 s
  (`early_signals`).
"""
