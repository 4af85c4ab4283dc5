"""Label a little, gain a lot: sessions of labelling, their log, what comes next, and learning in the background.

What a page or another program needs, in this order:

    session = Session.begin(folder, text, settings) or Session.open(folder)
    queue = Queue(session);  item = queue.current("anna")        the sentence to show: words, suggestions, version
    session.answer(Answer(item.id, "anna", "done", spans, seen=item.version))      synced before it returns
    learner = Learner(session, queue);  learner.look()           starts and collects rounds of learning; call it often
    session.progress("anna"), session.agreement("anna", "bo"), queue.search("oslo"), queue.elsewhere(("Oslo",))

Every method may be called from several threads. `desk.py` puts all this behind the page (`page/`); `export.py`
writes the page as one file.
"""
